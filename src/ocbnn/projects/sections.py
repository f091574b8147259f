"""The schema of a study file: its sections, their keys and their values.

The descriptions are shown in errors and in `docs/command-line.md`.
"""

import math
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from ocbnn.networks.activations import ACTIVATIONS
from ocbnn.projects.dataclass_sections import Section, plain_model
from ocbnn.rules import Rule
from ocbnn.tables.table import MOST_COLUMNS


class Data(Section):
    """`[data]`: the table and its columns."""

    file: str = Field(
        description="CSV or Parquet file, relative to the study file's folder",
        examples=["strength.csv"],
        min_length=1,
    )
    output: list[str] = Field(
        description="column to predict; a list for several, in regression",
        examples=["strength"],
        min_length=1,
        max_length=MOST_COLUMNS,
    )
    task: Literal["regression", "classification"] = Field(
        description="whether the output is a number or a class",
        examples=["regression"],
    )
    inputs: list[str] | None = Field(
        default=None,
        description="columns to predict from; by default, all others",
        examples=[["age", "water"]],
        max_length=MOST_COLUMNS,
    )
    categories: list[str] = Field(
        default=[],
        description="inputs that hold names or codes instead of amounts; each value "
        "becomes an input of its own, called `column=value`, that is 1 or 0",
        examples=[["colour"]],
        max_length=MOST_COLUMNS,
    )
    missing: Literal["refuse", "drop"] = Field(
        default="refuse",
        description="what to do with rows that have missing values",
        examples=["drop"],
    )
    stream: bool = Field(
        default=False,
        description="whether the table may be larger than memory: it is written to "
        "files once and read in batches; not for algorithms that need all rows at once",
        examples=[True],
    )

    @field_validator("output", mode="before")
    @classmethod
    def _as_list(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value


class Network(Section):
    """`[network]`: the network and its weight prior."""

    hidden: list[int] = Field(
        default=[50],
        description="units of each hidden layer",
        examples=[[50, 50]],
        min_length=1,
    )
    activation: str = Field(
        default="rbf",
        description=f"one of {', '.join(ACTIVATIONS)}",
        examples=["tanh"],
    )
    weight_prior: Literal["fan-in", "isotropic", "learned", "student-t"] = Field(
        default="learned",
        description="prior spread of weights: smaller in wide layers, the same in all, "
        "learned from the data, with a relevance for each input, or smaller in wide "
        "layers with heavy tails",
        examples=["fan-in"],
    )
    weight_scale: float = Field(
        default=1.0,
        gt=0,
        description="the prior standard deviation of a weight; its median if learned, "
        "its scale for `student-t`",
        examples=[1.0],
    )
    standardize: bool = Field(
        default=True,
        description="standardize columns to mean zero and standard deviation one; "
        "rules stay in your units",
        examples=[True],
    )
    scales: dict[str, list[float]] | None = Field(
        default=None,
        description="inputs with a scale of their own: its center and its unit; "
        "functions can bend sharply within a few units of the center",
        examples=[{"mean_bp": [65.0, 1.0]}],
    )


class Inference(BaseModel):
    """`[inference]`: the algorithm, and any setting of its plan."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    algorithm: str = Field(
        default="auto",
        description="the algorithm; its settings are further keys of this section",
        examples=["nuts"],
    )
    batch_size: int | None = Field(
        default=None,
        gt=0,
        description="rows per step, for algorithms that work with batches",
        examples=[100],
    )
    refine: bool | int | None = Field(
        default=None,
        description="whether to search for inputs at which draws violate rules, add "
        "them to the rules' points and fit again: `true`, or the largest number of "
        "rounds; by default, only for firm and hard rules",
        examples=[True],
    )

    # Before pydantic's own check, so that the message names both kinds of values.
    @field_validator("refine", mode="before")
    @classmethod
    def _is_refine(cls, value: object) -> object:
        is_count = type(value) is int and value in range(1, 101)
        if isinstance(value, bool) or value is None or is_count:
            return value
        raise ValueError("must be true, false or a number of rounds, 1 to 100")


class Fit(Section):
    """`[fit]`: how to fit and how to score."""

    seed: int = Field(
        default=0,
        ge=0,
        le=2**63 - 1,
        description="seed of all random numbers",
        examples=[0],
    )
    noise: Any = Field(
        default="infer",
        description="standard deviation of a measurement in the units of the output (a "
        "list for several outputs); `infer` learns it, and `varies` learns how it "
        "depends on the inputs; regression only",
        examples=[0.5],
    )
    truncate: bool = Field(
        default=False,
        description="whether measurements, too, stay within the limits of rules "
        "without a region; regression only",
        examples=[True],
    )
    rules_by: Literal["prior", "projection"] = Field(
        default="prior",
        description="how rules are enforced: multiplied into the prior, or by "
        '`"projection"`: draws are made without them, and each is moved to the nearest '
        "function that satisfies them",
        examples=["projection"],
    )
    holdout: float = Field(
        default=0.0,
        ge=0,
        le=0.9,
        description="share of rows, chosen by the seed, that are held out from the fit "
        "and scored",
        examples=[0.2],
    )

    @field_validator("noise")
    @classmethod
    def _is_noise(cls, value: object) -> object:
        numbers = value if isinstance(value, list) and value else [value]
        if value in ("infer", "varies") or all(
            isinstance(number, (int, float))
            and not isinstance(number, bool)
            and 0 < number < math.inf
            for number in numbers
        ):
            return value
        raise ValueError('must be "infer", "varies" or a number above zero')


class RuleText(Section):
    """An entry of `[[rules]]`: a rule as text, and how strictly it is held."""

    rule: str = Field(
        description="the rule, as in docs/rules.md",
        examples=["if 0 <= x <= 1 then y >= 0"],
        min_length=1,
    )
    name: str | None = Field(
        default=None,
        description="its name in reports",
        examples=["never negative"],
    )

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        return {"rule": value} if isinstance(value, str) else value


RuleEntry = plain_model(
    Rule,
    base=RuleText,
    leave_out=("claim", "where", "name"),
    unknown=(str, "like-data"),
)


class StudyText(Section):
    """The whole file."""

    data: Data = Field(description="the table", examples=["[data]"])
    rules: list[RuleEntry] = Field(  # pyright: ignore
        default=[], description="what you know", max_length=1000
    )
    network: Network = Network()
    inference: Inference = Inference()
    fit: Fit = Fit()
