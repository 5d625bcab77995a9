"""The examples of the kernels, which pytest cannot collect where they lie: their package is `mcettr.kernels`."""

import doctest
import importlib
import pkgutil

import pytest

import mcettr.kernels

NAMES = [module.name for module in pkgutil.iter_modules(mcettr.kernels.__path__, "mcettr.kernels.")]


@pytest.mark.parametrize("name", NAMES)
def test_examples_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = map(importlib.import_module, NAMES)
    assert sum(len(test.examples) > 0 for module in modules for test in finder.find(module)) >= 3
