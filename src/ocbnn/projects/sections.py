"""What a study file may say: its sections, their keys, and what each may be.

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
        description="CSV or Parquet file, seen from the study file's folder",
        examples=["strength.csv"],
        min_length=1,
    )
    output: list[str] = Field(
        description="column to predict; a list of several for regression",
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
        description="columns to predict from; left out, all the others",
        examples=[["age", "water"]],
        max_length=MOST_COLUMNS,
    )
    categories: list[str] = Field(
        default=[],
        description="inputs that hold names or codes, not amounts; each value gets a "
        "column of its own, called `column=value` and 1 or 0",
        examples=[["colour"]],
        max_length=MOST_COLUMNS,
    )
    missing: Literal["refuse", "drop"] = Field(
        default="refuse",
        description="what to do with rows that lack a value",
        examples=["drop"],
    )
    stream: bool = Field(
        default=False,
        description="whether the table may be larger than memory: it is written to "
        "files once, and rows are read in batches; not for algorithms that need all "
        "of them",
        examples=[True],
    )

    @field_validator("output", mode="before")
    @classmethod
    def _as_list(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value


class Network(Section):
    """`[network]`: the family of functions."""

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
    weight_prior: Literal["fan-in", "isotropic", "learned"] = Field(
        default="fan-in",
        description="how weights scatter before any data: less in wide layers, alike "
        "in all, or as the data teach, with a relevance for each input",
        examples=["fan-in"],
    )
    weight_scale: float = Field(
        default=1.0,
        gt=0,
        description="the standard deviation of a weight; if it is learned, its median",
        examples=[1.0],
    )
    standardize: bool = Field(
        default=True,
        description="work on columns of mean zero and spread one; rules stay in your "
        "units",
        examples=[True],
    )
    scales: dict[str, list[float]] | None = Field(
        default=None,
        description="inputs with a scale of their own: where it begins, and one step "
        "of it; functions may turn within a few steps of there",
        examples=[{"mean_bp": [65.0, 1.0]}],
    )


class Inference(BaseModel):
    """`[inference]`: the algorithm, and any setting of its plan."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    algorithm: str = Field(
        default="nuts",
        description="the algorithm; its own settings stand beside it",
        examples=["nuts"],
    )
    batch_size: int | None = Field(
        default=None,
        gt=0,
        description="rows per step, for algorithms that need not see all of them",
        examples=[100],
    )
    refine: bool | int | None = Field(
        default=None,
        description="whether inputs at which draws break rules are searched for and "
        "the model is fitted again with the rules felt there: `true`, or in how many "
        "rounds at most; left out, for firm and hard rules",
        examples=[True],
    )

    # Before, because a text is to be told of both kinds of answers.
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
        description="a number that decides every random one",
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
        description="measurements, too, stay within the limits that rules without a "
        "region set; regression only",
        examples=[True],
    )
    rules_by: Literal["prior", "projection"] = Field(
        default="prior",
        description="how rules are obeyed: multiplied into the prior, or by "
        '`"projection"`: draws are made without them, and each is moved to the nearest '
        "function that obeys",
        examples=["projection"],
    )
    holdout: float = Field(
        default=0.0,
        ge=0,
        le=0.9,
        description="share of rows, chosen by the seed, that the fit never sees and "
        "that the scores come from",
        examples=[0.2],
    )

    @field_validator("noise")
    @classmethod
    def _is_noise(cls, value: object) -> object:
        numbers = value if isinstance(value, list) and value else [value]
        if value in ("infer", "varies") or all(
            isinstance(one, (int, float))
            and not isinstance(one, bool)
            and 0 < one < math.inf
            for one in numbers
        ):
            return value
        raise ValueError('must be "infer", "varies" or a number above zero')


class RuleText(Section):
    """One of `[[rules]]`: a rule as text, and how strictly it is held."""

    rule: str = Field(
        description="the rule, as in docs/rules.md",
        examples=["if 0 <= x <= 1 then y >= 0"],
        min_length=1,
    )
    name: str | None = Field(
        default=None,
        description="what reports call it",
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
