"""What results hold: the name, the unit and the meaning of every variable and every coordinate."""

from __future__ import annotations

MEANINGS: dict[str, tuple[str, str]] = {
    "ettr": ("1", "effective training time ratio: productive over elapsed, ratio of sums over timelines"),
    "ettr_occupied": ("1", "productive over held time (elapsed without queue and maintenance)"),
    "ettr_correct": ("1", "productive time that is not corrupt in the end over elapsed, ratio of sums over timelines"),
    "corrupt_fraction": ("1", "share of the kept work computed after a silent corruption that was never found"),
    "ettr_timeline_mean": ("1", "mean of the timelines' own productive over elapsed"),
    "ettr_timeline_sd": ("1", "standard deviation between timelines of productive over elapsed"),
    "ettr_timeline_quantile": ("1", "quantile over timelines of productive over elapsed"),
    "time_fraction": ("1", "share of elapsed time by activity"),
    "lost_gpu_hours": ("GPU-h", "mean GPU-hours lost by cause and activity (none are held in queue and maintenance)"),
    "queue_hours": ("h", "mean time in the queue, by the cause that led there"),
    "maintenance_hours": ("h", "mean time in planned windows, by the cause they are booked on"),
    "interruptions": ("1", "mean number of failures of a timeline"),
    "interruptions_sd": ("1", "standard deviation of the interruptions of one timeline"),
    "interruptions_by_cause": ("1", "mean number of failures of a timeline by cause (0 for causes that are none)"),
    "checkpoints_written": ("1", "mean number of durable saves of a timeline"),
    "elapsed": ("s", "mean wall-clock time of a timeline"),
    "productive": ("s", "mean time of a timeline spent on steps that are kept"),
    "gpu_hours": ("GPU-h", "mean GPU-hours held"),
    "completion_probability": ("1", "share of all timelines whose work is durable by the deadline"),
    "completion_time": ("s", "time by which that share of timelines is done; inf where it never is"),
    "checkpoint_interval": ("s", "useful work between saves, as used"),
    "mttf_s": ("s", "mean time at risk between failures of the job"),
    "finished_fraction": ("1", "share of the simulated timelines that finished their work"),
    "capped_fraction": ("1", "share of the simulated timelines stopped at the cap on events"),
    "timelines": ("1", "timelines simulated"),
    "run_to_run_sd": ("1", "standard deviation of ettr between runs at the same rates"),
    "rate_uncertainty_sd": ("1", "standard deviation of ettr that the uncertainty of the rates makes"),
    "interruptions_run_to_run_sd": ("1", "standard deviation of interruptions between runs at the same rates"),
    "interruptions_rate_uncertainty_sd": ("1", "standard deviation of interruptions from the uncertainty of the rates"),
    "elapsed_run_to_run_sd": ("s", "standard deviation of the elapsed time between runs at the same rates"),
    "elapsed_rate_uncertainty_sd": ("s", "standard deviation of the elapsed time from the uncertainty of the rates"),
    "spare_wait_probability": ("1", "share of the recoveries in need of a node that found too few spares"),
    "nodes_out_mean": ("1", "mean number of nodes in repair at a random instant of a timeline"),
    "nodes_out_quantile": ("1", "quantile over timelines of the nodes in repair at a random instant"),
    "nodes_out_most_quantile": ("1", "quantile over timelines of the most nodes in repair at any time"),
    "longest_stretch_quantile": ("s", "quantile over timelines of the longest time without a newly durable save"),
}
"""Unit and meaning of every variable. An `_se`, a `_low` and a `_high` have those of their estimate; an estimate that
rests on fewer than 20 timelines with the event is nan, and its `_low` and `_high` say what is known."""

COORDINATES: dict[str, tuple[str, str]] = {
    "gpus": ("1", "GPUs of the job"),
    "cause": ("1", "what the time is booked on"),
    "activity": ("1", "what the time is spent on"),
    "quantile": ("1", "share of timelines at or below"),
    "deadline": ("s", "wall-clock time since submission"),
}
"""Unit and meaning of every coordinate besides the swept fields."""

RESULT_NAMES = frozenset((*MEANINGS, *COORDINATES))
"""Names that no cause of failure may have, since results use them."""
