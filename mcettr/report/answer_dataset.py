"""The answer of solve or optimize as a dataset, so that every format of a result file takes it."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mcettr.errors import OutputError
from mcettr.report.objects import plain
from mcettr.sweep.answer import SolveResult
from mcettr.sweep.optimize import OptimizeResult
from mcettr.units import shown

if TYPE_CHECKING:
    import xarray as xr

Answer: TypeAlias = SolveResult | OptimizeResult


def as_dataset(result: xr.Dataset | Answer) -> xr.Dataset:
    """Return a result as a dataset; of an answer the points tried, and the answer itself as the point so marked.

    The points lie along `point`, by value; the varied field is a variable under its own name. `is_answer` is 1 at the
    answer, which was simulated on draws of its own, where there is one.

    Raises
    ------
    OutputError
        It is neither a dataset of mcettr nor an answer.
    """
    import xarray as xr

    if isinstance(result, Answer):
        return _points(result)
    if isinstance(result, xr.Dataset) and "ettr" in result:
        return result
    raise OutputError(f"expected a result of simulate, sweep, solve or optimize, found {shown(result)}; give one")


def answer_object(answer: Answer) -> dict[str, Any]:
    """Return an answer as the object that `mcettr solve --json` and `mcettr optimize --json` print."""
    from mcettr.scenario.document import read_yaml

    entries = dict(answer.provenance)
    tree = answer.to_json() | {"unit": answer.unit}
    if entries:
        text = str(entries.pop("scenario"))
        tree |= {"seed": entries["seed"], "scenario": read_yaml(text, "scenario").tree}
        tree["provenance"] = entries | {"scenario": text}
    return tree


def _points(answer: Answer) -> xr.Dataset:
    import xarray as xr

    marked = [(point, 0) for point in answer.table]
    if answer.value is not None:
        marked.append((answer.achieved, 1))
    marked.sort(key=lambda pair: (pair[0].value, pair[1]))
    points = [point for point, _ in marked]
    name = answer.vary.split(".")[-1]
    columns: dict[str, tuple[list[float], str, str]] = {
        name: ([point.value for point in points], answer.unit, answer.vary),
        "ettr": ([point.ettr for point in points], "1", "effective training time ratio"),
        "ettr_se": ([point.ettr_se for point in points], "1", "standard error of ettr"),
    }
    interval = "checkpoint_interval" if name != "checkpoint_interval" else "checkpoint_interval_used"
    columns[interval] = ([point.checkpoint_interval_s for point in points], "s", "useful work between checkpoints")
    for i, part in enumerate(("probability", "low", "high")):
        if any(point.completion is not None for point in points):
            values = [math.nan if point.completion is None else point.completion[i] for point in points]
            columns[f"completion_{part}"] = (values, "1", str(getattr(answer, "target", "")))
    variables: dict[str, Any] = {
        key: ("point", np.array(values, dtype=np.float64), {"units": unit, "long_name": meaning})
        for key, (values, unit, meaning) in columns.items()
    }
    marks = np.array([mark for _, mark in marked], dtype=np.int64)
    variables["is_answer"] = ("point", marks, {"units": "1", "long_name": "1 at the answer, run on draws of its own"})
    attrs = {"title": "mcettr answer", "answer": json.dumps(plain(answer.to_json()))}
    if answer.provenance:
        attrs["provenance"] = json.dumps(dict(answer.provenance))
    return xr.Dataset(variables, attrs=attrs)
