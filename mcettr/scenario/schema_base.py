"""What the sections of a scenario have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PlainValidator

from mcettr.model.distributions import Distribution
from mcettr.scenario import counts, values
from mcettr.scenario.laws import parse_law
from mcettr.units import parse_fraction

Count = Annotated[float, PlainValidator(values.read_positive_count)]
Duration = Annotated[float, PlainValidator(values.read_duration_s)]
PositiveDuration = Annotated[float, PlainValidator(values.read_positive_duration_s)]
Share = Annotated[float, PlainValidator(parse_fraction)]
NumberFromZero = Annotated[float, PlainValidator(values.read_number)]
Law = Annotated[Distribution, PlainValidator(parse_law)]
NodeCounts = Annotated[counts.Listed | counts.Binomial, PlainValidator(counts.read_counts)]
Name = Annotated[str, PlainValidator(values.read_text)]
Chances = Annotated[tuple[tuple[str, float], ...], PlainValidator(values.read_chances)]


class Section(BaseModel):
    """Base of all sections: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Uncertainty(Section):
    """How well a rate is known."""

    cv: NumberFromZero = Field(examples=["0.3"])
