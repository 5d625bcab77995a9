"""The event loop: every mechanism, one event of each lane a step; mechanisms that are off cost nothing."""
