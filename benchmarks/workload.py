"""The workload of validation case V1.22 as data: 1,536 nodes, 30 days of work, every peer runs exactly this."""

from __future__ import annotations

from dataclasses import dataclass

from mcettr.model.distributions import fixed
from mcettr.model.params import Cause, Checkpoint, Params, Recovery

MINUTE_S, DAY_S = 60.0, 86_400.0

ACCOUNTS = ("elapsed", "productive", "rework", "checkpoint", "detection", "startup", "restore", "failures")
"""What a peer keeps of every timeline: seconds by activity, and the number of failures."""


@dataclass(frozen=True)
class Workload:
    """A job whose only randomness is when it fails; no horizon.

    Parameters
    ----------
    n_nodes : int
        Nodes of `gpus_per_node` GPUs.
    gpus_per_node : int
        GPUs of a node.
    rate_per_node_day : float
        Failures of a healthy node, per day at risk.
    work_s : float
        Useful training; a whole number of intervals.
    interval_s : float
        Work between saves.
    write_time_s : float
        A save, blocking throughout.
    detection_s : float
        From a failure to the restart; nothing fails meanwhile.
    startup_s, restore_s : float
        The restart, during which failures strike; restore only when there is a durable save.
    """

    n_nodes: int = 1536
    gpus_per_node: int = 8
    rate_per_node_day: float = 6.5e-3
    work_s: float = 30 * DAY_S
    interval_s: float = 30 * MINUTE_S
    write_time_s: float = 1 * MINUTE_S
    detection_s: float = 5 * MINUTE_S
    startup_s: float = 6 * MINUTE_S
    restore_s: float = 4 * MINUTE_S

    @property
    def rate_per_s(self) -> float:
        """Failures of the whole job per second at risk."""
        return self.n_nodes * self.rate_per_node_day / DAY_S

    @property
    def n_saves(self) -> int:
        """Saves of the whole job, the last one included."""
        return round(self.work_s / self.interval_s)

    def params(self) -> Params:
        """Return the same job as an engine takes it."""
        return Params(
            n_gpus=float(self.n_nodes * self.gpus_per_node),
            work_s=self.work_s,
            horizon_s=1000.0 * self.work_s,
            checkpoint=Checkpoint(self.interval_s, self.write_time_s, self.write_time_s),
            causes=(Cause("node", self.rate_per_s, detection=fixed(self.detection_s)),),
            recovery=Recovery(startup=(("start", fixed(self.startup_s)),), restore=fixed(self.restore_s)),
            horizon_given=False,
        )


V1_22 = Workload()
