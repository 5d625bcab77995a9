"""From a scenario, or a grid of them, to the numbers that an engine receives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mcettr.errors import Mistake, ScenarioError
from mcettr.model.distributions import Number
from mcettr.model.params import Cause, Checkpoint, Params, Recovery
from mcettr.model.problems import Cells, Notice, Problem
from mcettr.scenario.axes import Axis, read_axes
from mcettr.scenario.compile_causes import counts_nodes
from mcettr.scenario.compile_job import contradictions, job_params
from mcettr.scenario.leaves import map_numbers
from mcettr.scenario.merge import value_at
from mcettr.scenario.mistakes import mistake_at, place
from mcettr.scenario.place import Document
from mcettr.scenario.scenario import Scenario
from mcettr.scenario.schema import ScenarioSpec

_OTHER_FORMS = (("rate",), ("profile",), ("uncertainty", "cv"))
"""What a cause has in another form: a frequency as mtbf or count, a profile as an age, an uncertainty as a count."""


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
    warnings : tuple of Notice
        What the user should know before a run, one line each.
    """

    params: Params
    axes: tuple[Axis, ...]
    shape: tuple[int, ...]
    auto_interval: bool
    warnings: tuple[Notice, ...]


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
    params = job_params(spec)
    problems = list(contradictions(spec, params, Cells(params)))
    auto = not problems and spec.checkpoint is not None and spec.checkpoint.interval.kind == "auto"
    if auto:
        params = replace(params, checkpoint=replace(params.checkpoint, interval_s=_best_interval_s(params)))
    problems = problems or check(params)
    if errors := [problem for problem in problems if problem.level == "error"]:
        raise ScenarioError(*(_error(scenario.document, made, shape, problem) for problem in errors))
    warnings = notices(scenario, made, shape, problems)
    warnings += _part_node(spec) + _unused(spec)

    def spread(value: Any) -> Any:
        return np.broadcast_to(np.asarray(value, dtype=np.float64), shape) if shape else float(value)

    return Grid(map_numbers(params, spread), made, shape, auto, warnings)


def _best_interval_s(params: Params) -> Number:
    """Return the best interval of the closed form, which only knows rates and the blocked time of a save."""
    from mcettr.model.analytic import at_mean_rates, best_interval_s

    core = at_mean_rates(params)
    causes = tuple(
        Cause(near.name, np.where(_spares_work(cause, params.checkpoint), 0.0, near.rate_per_s))
        for cause, near in zip(params.causes, core.causes, strict=True)
    )
    return best_interval_s(replace(core, causes=causes, recovery=Recovery()))


def _spares_work(cause: Cause, save: Checkpoint) -> Any:
    """Return whether a cause leaves time to save before it stops the job: a slow node, a preemption with notice."""
    warned = np.greater(cause.notice_s, 0.0) & np.greater_equal(cause.notice_s, save.write_time_s)
    warned = warned & (cause.kind == "preemption")
    return warned | (cause.kind == "slow")


def _error(document: Document, axes: tuple[Axis, ...], shape: tuple[int, ...], problem: Any) -> Mistake:
    path = tuple(_written_path(document, problem.path).split("."))
    message = problem.message + _cells(axes, shape, problem)
    position = place(document, path, is_changed=False)
    if axes and (position is None or position.kind != "change"):
        return mistake_at(None, path, message)  # an axis may be to blame, which has no line here
    return mistake_at(position, path, message)


def _written_path(document: Document, path: str) -> str:
    """Return the path of a problem, no deeper than the cause has it: its frequency may be in another form."""
    parts = tuple(path.split("."))
    if parts[0] == "failures" and parts[2:] in _OTHER_FORMS and value_at(document.tree, parts) is None:
        parts = parts[:2]
    return ".".join(parts)


def notices(
    scenario: Scenario, axes: tuple[Axis, ...], shape: tuple[int, ...], problems: Iterable[Problem]
) -> tuple[Notice, ...]:
    """Return warnings as lines of text, with the first cell of a grid that each concerns."""
    found = []
    for problem in problems:
        path = _written_path(scenario.document, problem.path)
        text = f"{path}: {problem.message}{_cells(axes, shape, problem)}"
        found.append(Notice(text, problem.code, path, problem.measured))
    return tuple(found)


def _cells(axes: tuple[Axis, ...], shape: tuple[int, ...], problem: Any) -> str:
    """Return which cells of a sweep a problem concerns; nothing for a single job."""
    if not axes or problem.cells is None:
        return ""
    cell, n_concerned = _first_cell(axes, shape, problem.cells)
    return f" (cell {cell}; {n_concerned} of {int(np.prod(shape))} cells)"


def _first_cell(axes: tuple[Axis, ...], shape: tuple[int, ...], cells: Any) -> tuple[str, int]:
    """Return the coordinates of the first cell concerned, and how many are."""
    concerned = np.broadcast_to(cells, shape)
    index = np.unravel_index(int(np.argmax(concerned)), shape)
    texts = (f"{axis.name}={axis.labels[i]}" for axis, i in zip(axes, index, strict=True))
    return ", ".join(texts), int(concerned.sum())


def _part_node(spec: ScenarioSpec) -> tuple[Notice, ...]:
    """Return one warning, with the numbers of the first case, if some job leaves part of its last node empty."""
    gpus, per_node = np.broadcast_arrays(spec.job.gpus, spec.job.gpus_per_node)
    part = np.flatnonzero(np.remainder(gpus, per_node))
    if not part.size:
        return ()
    n_gpus, size = float(gpus.flat[part[0]]), float(per_node.flat[part[0]])
    nodes = f"{n_gpus / size:,.1f}" if n_gpus / size < 1e9 else f"{n_gpus / size:.3g}"
    text = f"job.gpus: {n_gpus:,.0f} GPUs fill {nodes} nodes of {size:g}: the last node counts as a whole one"
    return (Notice(text, "part-node", "job.gpus"),)


def _unused(spec: ScenarioSpec) -> tuple[Notice, ...]:
    """Return one warning for each thing that was given and changes nothing."""
    save, preflight = spec.checkpoint, spec.health_checks.preflight
    found = []
    sized = save is not None and save.write_time is not None and save.parameters is not None
    if sized and spec.recovery.read_bandwidth is None:
        found.append("checkpoint.parameters: has no effect, since write_time is given; give storage_bandwidth instead")
    for name, cause in spec.failures.items():
        for key in ("nodes_lost", "over_eviction"):
            if getattr(cause, key) is not None and not counts_nodes(spec):
                found.append(f"failures.{name}.{key}: has no effect without recovery.spares; add them or remove it")
        if preflight is not None and name in dict(preflight.catch_probability) and cause.repeat is None:
            path = f"health_checks.preflight.catch_probability.{name}"
            found.append(f"{path}: has no effect, since failures.{name} has no repeat whose faulty node could be found")
    return tuple(Notice(text, "no-effect", text.partition(":")[0]) for text in found)
