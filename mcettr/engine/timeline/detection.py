"""How long a fault stays unknown: the cause's own law, unless a periodic health check comes first."""

from __future__ import annotations

from mcettr.engine.draws import Draws
from mcettr.kernels import streams
from mcettr.model.params import Params

STOP = (streams.DETECTION, streams.CHECK_PHASE, streams.CHECK_CATCH)
SILENT = (streams.SILENT_LATENCY, streams.SILENT_CHECK_PHASE, streams.SILENT_CHECK_CATCH)
SLOW = (streams.SLOW_DETECTION, streams.SLOW_CHECK_PHASE, streams.SLOW_CHECK_CATCH)


def found_after_s(job: Params, draws: Draws, cause: int, purposes: tuple[int, int, int], number: int) -> float:
    """Return the time until a fault of a cause is known.

    Parameters
    ----------
    job, draws
        The job, and the timeline's draws.
    cause : int
        Index of the cause.
    purposes : tuple of int
        Purposes of the draws: time by the cause's law, phase of the checks, and checks that miss the fault.
    number : int
        Of the draws.

    Examples
    --------
    >>> from mcettr.model.distributions import fixed
    >>> from mcettr.model.params import Cause, Checkpoint
    >>> hang = Cause("hang", 1e-4, detection=fixed(600.0), caught_in_check=1.0)
    >>> job = Params(8.0, 1e5, 1e8, Checkpoint(1e3, 10.0, 10.0), (hang,), check_every_s=100.0)
    >>> 0.0 < found_after_s(job, Draws(0, 0), 0, STOP, 1) < 100.0
    True
    """
    law, phase, catch = purposes
    record = job.causes[cause]
    by_law_s = draws.duration(record.detection, law, number)
    if record.caught_in_check is None or job.check_every_s is None:
        return by_law_s
    n_missed = draws.repeats(1.0 - record.caught_in_check, catch, number)
    return min(by_law_s, float(job.check_every_s) * (draws.uniform(phase, number) + n_missed))
