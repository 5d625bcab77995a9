"""From a scenario, or a grid of them, to the numbers that an engine receives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mcettr.errors import ScenarioError
from mcettr.model.distributions import Number, fixed
from mcettr.model.params import Cause, Checkpoint, Params, Recovery
from mcettr.scenario.axes import Axis, read_axes
from mcettr.scenario.document import Document, one_line
from mcettr.scenario.leaves import map_numbers
from mcettr.scenario.merge import value_at
from mcettr.scenario.scenario import Scenario
from mcettr.scenario.schema import CauseSpec, CheckpointSpec, ScenarioSpec

IMPLICIT_HORIZON = 1000.0
"""Without a horizon a timeline is cut at this many times the work."""


@dataclass(frozen=True, eq=False)
class Grid:
    """One job for each cell of a grid of swept values; a single job where no field is swept.

    Parameters
    ----------
    params : Params
        The jobs; every number an array of the grid's shape (read-only views, no copies), or a float without axes.
    axes : tuple of Axis
        The swept fields, in the order of the dimensions.
    shape : tuple of int
        Number of values of each axis.
    auto_interval : bool
        Whether the checkpoint interval was left to the program (it then holds the best of the closed form, at mean
        rates).
    warnings : tuple of str
        What the user should know before a run, one line each.
    """

    params: Params
    axes: tuple[Axis, ...]
    shape: tuple[int, ...]
    auto_interval: bool
    warnings: tuple[str, ...]


def compile_params(scenario: Scenario) -> Params:
    """Return the job of one scenario in SI numbers.

    >>> from mcettr.scenario import load
    >>> compile_params(load("rsc-1").replace({"job.gpus": 16384})).causes[0].rate_per_s
    0.00015407407407407408

    Raises
    ------
    ScenarioError
        Two fields contradict each other.
    """
    return compile_grid(scenario, {}).params


def compile_grid(scenario: Scenario, axes: Mapping[str, Sequence[object]]) -> Grid:
    """Return the jobs of all combinations of some fields' values.

    Parameters
    ----------
    scenario : Scenario
        What every cell shares.
    axes : mapping of str to sequence
        Values by dotted path, as `Scenario.replace` takes them; each is checked alone, before any cell is made.

    >>> from mcettr.scenario import load
    >>> grid = compile_grid(load("rsc-1"), {"job.gpus": [1024, 2048], "checkpoint.write_time": ["10 s", "1 min"]})
    >>> grid.shape, grid.params.checkpoint.write_time_s[0].tolist()
    ((2, 2), [10.0, 60.0])

    Raises
    ------
    ScenarioError
        An axis or a value is wrong, or two fields contradict each other in a cell, which is named.
    """
    from mcettr.model.checks import check

    spec, made = read_axes(scenario, axes)
    shape = tuple(len(axis.values) for axis in made)
    params = _params(spec)
    auto = spec.checkpoint is not None and spec.checkpoint.interval.kind == "auto"
    if auto:
        params = replace(params, checkpoint=replace(params.checkpoint, interval_s=_best_interval_s(params)))
    problems = check(params)
    for problem in problems:
        if problem.level == "error":
            raise ScenarioError(one_line(_error(scenario.document, made, shape, problem)))
    warnings = tuple(_warning(scenario.document, made, shape, problem) for problem in problems)
    warnings += _part_node(spec) + _unused(spec)

    def spread(value: Any) -> Any:
        return np.broadcast_to(np.asarray(value, dtype=np.float64), shape) if shape else float(value)

    return Grid(map_numbers(params, spread), made, shape, auto, warnings)


def _best_interval_s(params: Params) -> Number:
    """Return the best interval of the closed form, which only knows rates and the blocked time of a save."""
    from mcettr.model.analytic import at_mean_rates, best_interval_s

    core = at_mean_rates(params)
    causes = tuple(Cause(cause.name, cause.rate_per_s) for cause in core.causes)
    return best_interval_s(replace(core, causes=causes, recovery=Recovery()))


def _error(document: Document, axes: tuple[Axis, ...], shape: tuple[int, ...], problem: Any) -> str:
    text = f"{_written_path(document, problem.path)}: {problem.message}"
    if axes and problem.cells is not None:
        cell, n_bad = _first_cell(axes, shape, problem.cells)
        return f"cell {cell}: {text}" + (f" (and {n_bad - 1} more cells)" if n_bad > 1 else "")
    position = document.position(tuple(problem.path.split(".")))
    return text if position is None else f"{position}: {text}"


def _written_path(document: Document, path: str) -> str:
    """Return the path of a problem, without the rate where the cause has its frequency in another form."""
    parts = tuple(path.split("."))
    unwritten = parts[0] == "failures" and parts[-1] == "rate" and value_at(document.tree, parts) is None
    return ".".join(parts[:-1]) if unwritten else path


def _warning(document: Document, axes: tuple[Axis, ...], shape: tuple[int, ...], problem: Any) -> str:
    text = f"{_written_path(document, problem.path)}: {problem.message}"
    if not axes or problem.cells is None:
        return text
    cell, n_concerned = _first_cell(axes, shape, problem.cells)
    return f"{text} (cell {cell}; {n_concerned} of {int(np.prod(shape))} cells)"


def _first_cell(axes: tuple[Axis, ...], shape: tuple[int, ...], cells: Any) -> tuple[str, int]:
    """Return the coordinates of the first cell concerned, and how many are."""
    concerned = np.broadcast_to(cells, shape)
    index = np.unravel_index(int(np.argmax(concerned)), shape)
    texts = (f"{axis.name}={axis.labels[i]}" for axis, i in zip(axes, index, strict=True))
    return ", ".join(texts), int(concerned.sum())


def _part_node(spec: ScenarioSpec) -> tuple[str, ...]:
    """Return one warning, with the numbers of the first case, if some job leaves part of its last node empty."""
    gpus, per_node = np.broadcast_arrays(spec.job.gpus, spec.job.gpus_per_node)
    part = np.flatnonzero(np.remainder(gpus, per_node))
    if not part.size:
        return ()
    n_gpus, size = float(gpus.flat[part[0]]), float(per_node.flat[part[0]])
    nodes = f"{n_gpus / size:,.1f}" if n_gpus / size < 1e9 else f"{n_gpus / size:.3g}"
    return (f"job.gpus: {n_gpus:,.0f} GPUs fill {nodes} nodes of {size:g}: the last node counts as a whole one",)


def _unused(spec: ScenarioSpec) -> tuple[str, ...]:
    save = spec.checkpoint
    if save is None or save.write_time is None or save.parameters is None or spec.recovery.read_bandwidth is not None:
        return ()
    return ("checkpoint.parameters: has no effect, since write_time is given; give storage_bandwidth instead",)


def _params(spec: ScenarioSpec) -> Params:
    """Return the job of a parsed scenario whose numbers may be arrays that broadcast."""
    job = spec.job
    n_nodes = np.ceil(np.divide(job.gpus, job.gpus_per_node))
    work_s: Number = np.inf
    if job.work is not None:
        work_s = np.divide(job.work.duration_s, job.gpus) if job.work.unit == "gpu" else job.work.duration_s
    return Params(
        n_gpus=job.gpus,
        work_s=work_s,
        horizon_s=np.multiply(IMPLICIT_HORIZON, work_s) if job.horizon is None else job.horizon,
        checkpoint=_checkpoint(spec.checkpoint, n_nodes),
        causes=tuple(_cause(name, spec, n_nodes) for name in spec.failures),
        recovery=_recovery(spec, n_nodes),
        resumes=np.multiply(job.resumes, 1.0),
        horizon_given=job.horizon is not None,
    )


def _checkpoint(save: CheckpointSpec | None, n_nodes: Number) -> Checkpoint:
    if save is None:
        return Checkpoint(np.inf, 0.0, 0.0)
    write_time_s: Number = save.write_time
    if write_time_s is None:
        write_time_s = _transfer_s(save, save.storage_bandwidth, n_nodes)
    stall_s: Number = save.stall.value if save.stall.kind == "fixed" else np.multiply(save.stall.value, write_time_s)
    blocking = bool(np.all(np.equal(stall_s, write_time_s)))
    return Checkpoint(save.interval.value_s, write_time_s, stall_s, save.slowdown, blocking)


def _transfer_s(save: CheckpointSpec, shared_bytes_per_s: Number | None, n_nodes: Number) -> Number:
    """Return how long the whole state takes through the storage and through the nodes' links, whichever is slower."""
    parameters: Number = save.parameters
    bytes_each: Number = save.bytes_per_parameter
    size_bytes = np.multiply(parameters, bytes_each)
    bandwidth: Number = np.inf if shared_bytes_per_s is None else shared_bytes_per_s
    if save.node_bandwidth is not None:
        bandwidth = np.minimum(bandwidth, np.multiply(n_nodes, save.node_bandwidth))
    return np.add(np.divide(size_bytes, bandwidth), 0.0 if save.latency is None else save.latency)


def _cause(name: str, spec: ScenarioSpec, n_nodes: Number) -> Cause:
    cause = spec.failures[name]
    rate_per_s, shape = _rate(cause, spec, n_nodes)
    return Cause(
        name=name,
        rate_per_s=rate_per_s,
        kind=cause.kind,
        rate_shape=shape,
        every=cause.every,
        detection=cause.detection,
        diagnosis=spec.recovery.diagnosis if cause.diagnosis is None else cause.diagnosis,
    )


def _rate(cause: CauseSpec, spec: ScenarioSpec, n_nodes: Number) -> tuple[Number, Number]:
    """Return the mean rate of the whole job, per second, and the shape of its gamma posterior."""
    if cause.every is not None:
        return 0.0, np.inf
    if cause.mtbf is not None:
        return np.divide(1.0, cause.mtbf), np.inf
    if cause.rate is not None:
        return np.multiply(cause.rate.per_s, _n_exposed(cause, cause.rate.unit, spec, n_nodes)), np.inf
    exposure = cause.exposure
    if exposure is None or cause.count is None:
        raise TypeError("the schema lets no cause through without a frequency")
    sharing = [
        c.exposure for c in spec.failures.values() if c.exposure is not None and c.exposure.unit == exposure.unit
    ]
    n_sharing = sum(np.equal(other.duration_s, exposure.duration_s) * 1.0 for other in sharing)
    # Jeffreys' 1/2 for all events of one exposure together, shared evenly: m causes at 1/2 each would add m/2 events
    shape = np.add(cause.count, np.divide(0.5, n_sharing))
    n_exposed = _n_exposed(cause, exposure.unit, spec, n_nodes)
    return np.multiply(np.divide(shape, exposure.duration_s), n_exposed), shape


def _n_exposed(cause: CauseSpec, unit: str, spec: ScenarioSpec, n_nodes: Number) -> Number:
    if unit == "domain":
        nodes_per_domain: Number = cause.nodes_per_domain
        return np.ceil(np.divide(n_nodes, nodes_per_domain))
    return {"job": 1.0, "node": n_nodes, "gpu": spec.job.gpus}[unit]


def _recovery(spec: ScenarioSpec, n_nodes: Number) -> Recovery:
    recovery, restore = spec.recovery, spec.recovery.restore
    if recovery.read_bandwidth is not None and spec.checkpoint is not None:
        restore = fixed(_transfer_s(spec.checkpoint, recovery.read_bandwidth, n_nodes))
    return Recovery(recovery.queue_wait, recovery.startup, fixed(0.0) if restore is None else restore)
