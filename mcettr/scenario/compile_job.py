"""From a parsed scenario to the job in SI numbers: the job itself, its saves, and what happens around it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mcettr.model.distributions import Distribution, Number, is_fixed, mean, sample, tabulate
from mcettr.model.params import Checkpoint, Params
from mcettr.model.physics import Incidents, Lemons, LocalTier, Maintenance, Retention
from mcettr.model.problems import Cells, Problem, duration_text
from mcettr.scenario.compile_causes import OLDEST, causes, gamma_shape
from mcettr.scenario.compile_recovery import recovery, transfer_s
from mcettr.scenario.names import LEMON
from mcettr.scenario.schema import ScenarioSpec
from mcettr.scenario.schema_fleet import LemonsSpec
from mcettr.scenario.schema_job import CheckpointSpec, JobSpec, LocalSpec
from mcettr.scenario.values import Stall
from mcettr.units import Exposure

IMPLICIT_HORIZON = 1000.0
"""Without a horizon a timeline is cut at this many times the work."""
_DRAWS = 4096
_WHOLE = 1e-9


def job_params(spec: ScenarioSpec) -> Params:
    """Return the job of a parsed scenario whose numbers may be arrays that broadcast.

    >>> from mcettr.scenario import load
    >>> float(job_params(load({"job": {"gpus": 8, "work": "3 d", "saved": "1 d"}}).spec).work_s)
    172800.0
    """
    job = spec.job
    n_nodes = np.ceil(np.divide(job.gpus, job.gpus_per_node))
    saved_s = _amount_s(job.saved, job, 0.0)
    work_s = np.subtract(_amount_s(job.work, job, np.inf), saved_s)
    horizon_s: Number = np.multiply(IMPLICIT_HORIZON, work_s) if job.horizon is None else job.horizon
    periodic = spec.health_checks.periodic
    return Params(
        n_gpus=job.gpus,
        work_s=work_s,
        horizon_s=horizon_s,
        checkpoint=_checkpoint(spec.checkpoint, n_nodes),
        causes=causes(spec, n_nodes, horizon_s, work_s),
        recovery=recovery(spec, n_nodes),
        resumes=np.multiply(job.resumes, 1.0) if job.saved is None else 1.0,
        horizon_given=job.horizon is not None,
        n_nodes=n_nodes,
        saved_before_s=saved_s,
        rate_shape=np.inf if spec.uncertainty is None else gamma_shape(spec.uncertainty.cv),
        incidents=_incidents(spec),
        lemons=_lemons(spec),
        maintenance=_maintenance(spec),
        check_every_s=None if periodic is None else periodic.every,
    )


def contradictions(spec: ScenarioSpec, params: Params, see: Cells) -> Iterator[Problem]:
    """Yield the errors that need numbers which compiling loses."""
    yield from see.where(
        "error",
        "job.saved",
        np.less_equal(params.work_s, 0.0) & (spec.job.saved is not None),
        lambda left, saved: (
            f"expected less than the work ({duration_text(left + saved)}), found {duration_text(saved)}:"
            " work counts from the very beginning; raise it"
        ),
        params.work_s,
        params.saved_before_s,
    )
    for name, cause in spec.failures.items():
        if cause.lifetime is not None and cause.fleet_age is not None:
            lives = np.divide(cause.fleet_age, mean(cause.lifetime))
            yield from see.where(
                "error",
                f"failures.{name}.fleet_age",
                lives > OLDEST,
                lambda lives: f"expected at most {OLDEST:g} mean lives, found {lives:.3g} of them; write 'stationary'",
                lives,
            )


def _amount_s(amount: Exposure | None, job: JobSpec, none: float) -> Number:
    """Return an amount of training in seconds at full speed."""
    if amount is None:
        return none
    return np.divide(amount.duration_s, job.gpus) if amount.unit == "gpu" else amount.duration_s


def _checkpoint(save: CheckpointSpec | None, n_nodes: Number) -> Checkpoint:
    if save is None:
        return Checkpoint(np.inf, 0.0, 0.0)
    law, stall = save.write_time, save.stall
    if law is not None and not is_fixed(law):
        write_s, stall_s = mean(law), _mean_stall_s(stall, law)
        share, fixed_s = (0.0, stall.value) if stall.kind == "fixed" else (stall.value, 0.0)
        blocking = bool(np.all(np.equal(share, 1.0)))
    else:
        write_s = transfer_s(save, save.storage_bandwidth, n_nodes) if law is None else law.values[0]
        stall_s, law, share, fixed_s = _stall_s(stall, write_s), None, 1.0, 0.0
        blocking = bool(np.all(np.equal(stall_s, write_s)))
    return Checkpoint(
        interval_s=save.interval.value_s,
        write_time_s=write_s,
        stall_s=stall_s,
        slowdown=save.slowdown,
        blocking=blocking,
        verify_s=save.verify,
        write_time=law,
        stall_share=share,
        stall_fixed_s=fixed_s,
        local=None if save.local is None else _local(save.local, save.interval.value_s),
        retention=_retention(save),
    )


def _retention(save: CheckpointSpec) -> Retention | None:
    if save.bad_probability is None and save.keep is None and save.permanent_every is None:
        return None
    return Retention(
        bad_probability=0.0 if save.bad_probability is None else save.bad_probability,
        keep=np.inf if save.keep is None else save.keep,
        permanent_every=np.inf if save.permanent_every is None else save.permanent_every,
    )


def _stall_s(stall: Stall, write_s: Number) -> Number:
    return stall.value if stall.kind == "fixed" else np.multiply(stall.value, write_s)


def _mean_stall_s(stall: Stall, write: Distribution) -> Number:
    """Return the mean stall of a random write: a fixed one is cut at the write."""
    if stall.kind != "fixed":
        return np.multiply(stall.value, mean(write))
    u = (np.arange(_DRAWS) + 0.5) / _DRAWS
    law, shape = _for_draws(write)
    drawn_s = sample(law, np.broadcast_to(u, (*shape, _DRAWS)))
    return np.minimum(drawn_s, np.asarray(stall.value)[..., None]).mean(axis=-1)[()]


def _for_draws(law: Distribution) -> tuple[Distribution, tuple[int, ...]]:
    """Return a law whose numbers broadcast against a trailing axis of draws, and their common shape without it."""
    parts = [_for_draws(part) for part in law.components]
    shape = np.broadcast_shapes(*(np.shape(value) for value in law.values), *(inner for _, inner in parts))
    if law.kind == "gamma":
        return tabulate(law), shape
    numbers = tuple(np.asarray(value)[..., None] for value in law.values)
    return Distribution(law.kind, numbers, tuple(part for part, _ in parts)), shape


def _local(local: LocalSpec, interval_s: Number) -> LocalTier:
    with np.errstate(invalid="ignore"):
        parts = np.divide(interval_s, local.interval)
        whole = np.round(parts)
        n_a_main = np.where(np.abs(parts - whole) <= _WHOLE * parts, whole, parts)[()]
    stall_s = _stall_s(local.stall, local.write_time)
    holds_main = np.multiply(local.holds_main, 1.0)
    return LocalTier(n_a_main, local.write_time, stall_s, local.restore, local.survives_node_losses, holds_main)


def _incidents(spec: ScenarioSpec) -> Incidents | None:
    incidents = spec.incidents
    if incidents is None:
        return None
    return Incidents(incidents.rate.per_s, incidents.mean_duration, incidents.multiplier)


def _lemons(spec: ScenarioSpec) -> Lemons | None:
    lemons, preflight = spec.lemons, spec.health_checks.preflight
    if lemons is None:
        return None
    caught = None if preflight is None else dict(preflight.catch_probability).get(LEMON)
    screened = _screened(lemons)
    at_start = screened if lemons.screening_at_start else lemons.fraction
    return Lemons(screened, lemons.multiplier, lemons.eviction_probability, caught, at_start)


def _screened(lemons: LemonsSpec) -> Number:
    """Return the share of lemons among nodes that passed a screening; 1 where nothing else is there to take."""
    passed = np.multiply(lemons.fraction, np.subtract(1.0, lemons.screening_sensitivity))
    taken = np.subtract(1.0, np.multiply(lemons.fraction, lemons.screening_sensitivity))
    return np.where(taken > 0.0, passed / np.where(taken > 0.0, taken, 1.0), 1.0)[()]


def _maintenance(spec: ScenarioSpec) -> Maintenance | None:
    planned = spec.maintenance
    return None if planned is None else Maintenance(planned.every, planned.duration, planned.notice)
