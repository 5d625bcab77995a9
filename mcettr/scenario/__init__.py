"""Scenarios: what the user writes, checked, and compiled to the numbers that engines take."""

from mcettr.scenario.axes import Axis
from mcettr.scenario.compile import Grid, compile_grid, compile_params
from mcettr.scenario.load import load
from mcettr.scenario.presets import FieldSource, Preset, preset_names, read_preset
from mcettr.scenario.scenario import Scenario

__all__ = [
    "Axis",
    "FieldSource",
    "Grid",
    "Preset",
    "Scenario",
    "compile_grid",
    "compile_params",
    "load",
    "preset_names",
    "read_preset",
]
