"""Which terms stand against a target: what a job loses even with a free checkpoint."""

from __future__ import annotations

import numpy as np

from mcettr.model import analytic
from mcettr.model.distributions import mean
from mcettr.model.params import Params
from mcettr.sweep.target import Target
from mcettr.units import format_duration

_WORTH_NAMING = 5e-4


def binding_terms(params: Params, target: Target) -> str:
    """Return a sentence on what a single job loses apart from saves and rework, by closed forms where they apply.

    >>> from mcettr.model.params import Cause, Checkpoint, Recovery
    >>> from mcettr.model.distributions import fixed
    >>> recovery = Recovery(startup=(("start", fixed(600.0)),))
    >>> cause = Cause("node", 1536 * 6.5e-3 / 86400, detection=fixed(300.0))
    >>> job = Params(12288.0, 864000.0, 1e9, Checkpoint(600.0, 1.0, 1.0), (cause,), recovery)
    >>> binding_terms(job, Target(0.95))
    'with a free checkpoint the ceiling is 0.902: detection and restart cost 9.8 points'
    """
    if analytic.core_model_reason(params) is None:
        return _terms(params, target)
    core = analytic.at_mean_rates(params)
    if (reason := analytic.core_model_reason(core)) is not None:
        return f"no closed form says which term binds: {reason}"
    return f"approximately, at mean rates, {_terms(core, target)}"


def _terms(params: Params, target: Target) -> str:
    ceiling = float(np.reshape(analytic.ceiling(params), -1)[0])
    share = {name: float(np.reshape(value, -1)[0]) for name, value in analytic.explain(params).items()}
    share["restart"] = share.pop("startup") + share.pop("restore")
    named = [name for name in ("detection", "diagnosis", "queue", "restart") if share[name] >= _WORTH_NAMING]
    text = f"with a free checkpoint the ceiling is {ceiling:.3f}"
    if named:
        listed = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
        cost = "cost" if len(named) > 1 else "costs"
        text += f": {listed} {cost} {100 * (1 - ceiling):.1f} points"
    if target.deadlines.seconds:
        work_s = float(np.reshape(params.work_s, -1)[0])
        at = format_duration(target.deadlines.seconds[0])
        return f"the work alone takes {format_duration(work_s)} of the {at}, and {text}"
    if ceiling > target.level:
        text += f"; saves and rework cost {100 * (share['checkpoint'] + share['rework']):.1f} points"
        first = _first_start_share(params)
        text += f", the first start {100 * first:.1f}" if first >= _WORTH_NAMING else ""
    return text


def _first_start_share(params: Params) -> float:
    """Return the part of the elapsed time that the first submission and start take, which no long run shows."""
    recovery = params.recovery
    start_s = sum((mean(law) for _, law in recovery.startup), start=mean(recovery.queue_wait))
    with np.errstate(divide="ignore", invalid="ignore"):
        elapsed_s = np.minimum(np.divide(params.work_s, analytic.ettr(params)), params.horizon_s)
    return float(np.reshape(start_s / elapsed_s, -1)[0])
