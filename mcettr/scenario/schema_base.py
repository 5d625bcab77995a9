"""What the sections of a scenario have in common.

A field says what it is: the kind of its values by its type, the meaning and an example by `Field(description=...,
examples=[...])`. `mcettr fields`, `mcettr schema`, `mcettr init` and docs/scenario.md are made from that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, model_validator

from mcettr.model.distributions import Distribution
from mcettr.scenario import counts, kinds, values
from mcettr.scenario.laws import parse_law
from mcettr.units import UnitError, parse_fraction

Count = Annotated[float, PlainValidator(values.read_positive_count), kinds.COUNT]
CountFrom0 = Annotated[float, PlainValidator(values.read_count), kinds.COUNT_FROM_0]
Duration = Annotated[float, PlainValidator(values.read_duration_s), kinds.DURATION]
PositiveDuration = Annotated[float, PlainValidator(values.read_positive_duration_s), kinds.DURATION]
LongDuration = Annotated[float, PlainValidator(values.read_long_duration_s), kinds.DURATION]
Share = Annotated[float, PlainValidator(parse_fraction), kinds.SHARE]
NumberFromZero = Annotated[float, PlainValidator(values.read_number), kinds.NUMBER]
PositiveNumber = Annotated[float, PlainValidator(values.read_positive_number), kinds.POSITIVE_NUMBER]
Bandwidth = Annotated[float, PlainValidator(values.read_bandwidth_bytes_per_s), kinds.BANDWIDTH]
Law = Annotated[Distribution, PlainValidator(parse_law), kinds.LAW]
NodeCounts = Annotated[counts.Listed | counts.Binomial, PlainValidator(counts.read_counts), kinds.NODE_COUNTS]
Flag = Annotated[bool, PlainValidator(values.read_flag), kinds.FLAG]
Text = Annotated[str, PlainValidator(values.read_text), kinds.TEXT]
Name = Annotated[str, PlainValidator(values.read_text), kinds.NAME]
Chances = Annotated[tuple[tuple[str, float], ...], PlainValidator(values.read_chances), kinds.CHANCES]


class ContradictionsError(ValueError):
    """What is wrong with fields that are sound alone; `found` has an error for each."""

    def __init__(self, found: tuple[UnitError, ...]) -> None:
        super().__init__("; ".join(str(one) for one in found))
        self.found = found


class Section(BaseModel):
    """Base of all sections: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def contradictions(self) -> Iterator[UnitError]:
        """Yield an error for each set of fields that cannot stand together."""
        yield from ()

    @model_validator(mode="after")
    def _consistent(self) -> Section:
        if found := tuple(self.contradictions()):
            raise ContradictionsError(found)
        return self


class Uncertainty(Section):
    """How well a rate is known: a factor with a gamma distribution of mean 1."""

    cv: Annotated[float, PlainValidator(values.read_cv), kinds.NUMBER] = Field(
        description="standard deviation of the factor on the rate, as a share of its mean", examples=["0.3"]
    )
