"""A fitted model as a value: the model, its data and its draws."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int
from sklearn.utils import check_array

from ocbnn.core.advice import Kind
from ocbnn.core.randomness import key_from
from ocbnn.core.rows import evenly
from ocbnn.core.sentences import Sentence
from ocbnn.core.types import Along, Position, RowNames
from ocbnn.core.warn import warn
from ocbnn.core.words import listing
from ocbnn.errors import DataError, SettingError, StorageWarning
from ocbnn.fitted.names import in_order
from ocbnn.inference import Choice, Draws, Verdict, judge
from ocbnn.metrics.hard_rules import HardRuleRecord
from ocbnn.posterior import GaussianNoise, Target, TruncatedGaussian
from ocbnn.predictive import Predictive
from ocbnn.predictive.feasible_predictions import feasible_classes, feasible_means
from ocbnn.predictive.predictive import Limits, predict_with
from ocbnn.priors import RuleTerm
from ocbnn.priors.rulebook import make_terms
from ocbnn.refinement.hard import Answers, answering, kept_rules
from ocbnn.refinement.projected import ProjectionRecord
from ocbnn.refinement.record import RefinementRecord
from ocbnn.rules import BoundRule, Schema, output_limits

Inputs = Float[np.ndarray, "rows inputs"]
REFERENCE_INPUTS = 200
# Rows whose slopes are held in memory at a time.
_SLOPE_ROWS = 1000


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """The rows that a model was fitted to, in the user's units.

    Attributes
    ----------
    X
        Inputs.
    Y
        Outputs, a column for each, or class numbers.
    names
        Names of the rows; None if they are counted from 0.
    stored
        How many rows the fit read from a file, of which these are a sample; None
        if these are all.
    """

    X: Inputs
    Y: Float[np.ndarray, "rows outputs"] | Int[np.ndarray, " rows"]
    names: RowNames | None = None
    stored: int | None = None

    def __len__(self) -> int:
        return len(self.X)

    def name(self, row: int) -> Any:
        """The name of a row."""
        return row if self.names is None else self.names[row]


@dataclasses.dataclass(frozen=True, eq=False)
class Given:
    """The form in which the user gave the data.

    Attributes
    ----------
    columns
        A data frame's names of the inputs; None for arrays.
    y_ndim
        The number of axes of the outputs.
    labels
        The classes, in their original type; None for numbers.
    """

    columns: tuple[str, ...] | None = None
    y_ndim: int = 1
    labels: np.ndarray | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class FittedModel:
    """The result of a fit, from which all predictions and analyses follow.

    Attributes
    ----------
    schema
        The names of inputs, outputs and classes.
    rules
        The rules, bound to this schema.
    target
        The log density that was drawn from; rules of a projection do not belong to it.
    draws
        The draws from it; the projected ones, if there was a projection.
    kept
        Numbers of the draws that predictions use, some of them repeated.
    choice
        The plan that made them, and why it was chosen.
    data
        The rows it was fitted to; None when it was saved without them.
    given
        The form in which they were given.
    verdict
        Whether to trust the draws; unknown until they are judged.
    hard_rules
        What hard rules have cost; None without any.
    refinement
        The record of a refinement; None without one.
    projection
        The record of a projection; None without one.
    free
        Positions as they were drawn, before a projection; None without one.
    projected_onto
        The rules of a projection, with their points; empty without one.
    scales
        The scales that the user gave for some inputs, by name.
    random_state
        The seed, from which the seeds of second fits follow.
    devices
        Where it computes, like `devices` of an estimator.
    second_fits
        A cache of draws of fits without one of the rules, by its name; empty in a
        new record.
    """

    schema: Schema
    rules: tuple[BoundRule, ...]
    target: Target
    draws: Draws
    kept: Int[np.ndarray, " kept"]
    choice: Choice
    data: Rows | None
    given: Given
    verdict: Verdict = Verdict("unknown", ())  # noqa: RUF009 (it is frozen)
    hard_rules: HardRuleRecord | None = None
    refinement: RefinementRecord | None = None
    projection: ProjectionRecord | None = None
    free: Position | None = None
    projected_onto: tuple[RuleTerm, ...] = ()
    scales: Mapping[str, Any] | None = None
    random_state: object = None
    devices: object = None
    second_fits: dict[str, Draws] = dataclasses.field(
        default_factory=dict, init=False, repr=False
    )

    # What follows from the draws.

    @functools.cached_property
    def predictive(self) -> Predictive:
        """Predictions with every draw."""
        return predict_with(self.target, self.draws, self.devices)

    @functools.cached_property
    def drawn(self) -> Predictive:
        """Predictions with every draw before a projection, for convergence checks."""
        return self.predictive if self.free is None else self.free_model.predictive

    @property
    def free_model(self) -> "FittedModel":
        """The model with its original draws, from before a projection."""
        if self.free is None:
            return self
        draws = dataclasses.replace(self.draws, positions=self.free)
        all_draws = np.arange(draws.size)
        fields = {
            "hard_rules": None,
            "kept": all_draws,
            "projection": None,
            "free": None,
        }
        return dataclasses.replace(self, draws=draws, **fields)

    def thinned(self, most: int) -> "FittedModel":
        """The model with at most `most` of its draws, in a single chain.

        Numbers about the moves of its chains are left out.
        """
        rows = self.draws.chosen(most)
        few = lambda tree: jax.tree.map(
            lambda leaf: np.asarray(leaf).reshape(-1, *leaf.shape[2:])[rows][None], tree
        )
        draws = dataclasses.replace(
            self.draws, positions=few(self.draws.positions), stats={}, warmup={}
        )
        free = None if self.free is None else few(self.free)
        kept = np.arange(len(rows))
        return dataclasses.replace(self, draws=draws, free=free, kept=kept)

    @functools.cached_property
    def answering(self) -> Answers:
        """What predictions come from: the draws that keep hard rules."""
        return answering(self.rules, self.predictive, self.kept)

    @functools.cached_property
    def noise(self) -> Float[np.ndarray, "draws outputs"] | None:
        """Every draw's noise; None if it varies with the inputs."""
        return self.predictive.noise()

    @property
    def is_noise_given(self) -> bool:
        """Whether the noise was given; otherwise it is learned."""
        likelihood = self.target.likelihood
        if isinstance(likelihood, TruncatedGaussian):
            likelihood = likelihood.inner
        return isinstance(likelihood, GaussianNoise) and likelihood.known

    @property
    def limits(self) -> Limits | None:
        """Least and greatest observation of each output; None without such limits."""
        if not isinstance(self.target.likelihood, TruncatedGaussian):
            return None
        return output_limits(self.rules, len(self.schema.outputs))

    def some_draws(self, most: int) -> Predictive:
        """Predictions with at most `most` of all draws, evenly chosen."""
        thinned = self.draws.thinned(most)
        return Predictive.of(self.target, thinned, self.predictive.devices)

    # Its estimator.

    @property
    def estimator(self) -> str:
        """The name of the class that fits such models."""
        return "OCBNNClassifier" if self.has_classes else "OCBNNRegressor"

    @property
    def has_classes(self) -> bool:
        """Whether the output is one of several classes."""
        return self.schema.classes is not None

    @property
    def output_names(self) -> list[str]:
        """Names of the columns of function values."""
        if self.schema.classes is None:
            return list(self.schema.outputs)
        return [f"{self.schema.outputs[0]} = {label}" for label in self.schema.classes]

    # Its rows, and those of others.

    @property
    def rows(self) -> Rows:
        """The rows it was fitted to.

        Raises
        ------
        DataError
            When it was saved without them.
        """
        return self.need_data("this")

    def need_data(self, what: str) -> Rows:
        """The rows it was fitted to; `what` names the analysis in the error.

        Raises
        ------
        DataError
            When it was saved without them.
        """
        if self.data is None:
            raise DataError(
                f"{what} needs the data that this model was fitted to, and it was "
                "saved without them. Load one that was saved with data=True, or fit "
                "it again."
            )
        return self.data

    def refuse_projected(self, what: str) -> None:
        """Refuse an analysis that weights draws by penalties, after a projection.

        Raises
        ------
        SettingError
            When the draws were projected onto the rules.
        """
        if self.projection is not None:
            message = (
                f"{what} compares draws by the penalties of rules in the log density, "
                "and this model has none, because its draws were projected onto the "
                "rules. To learn how far that moved them, "
            )
            see, fit = Kind.SEE_PROJECTION, Kind.FIT_BY_PRIOR
            raise SettingError(
                Sentence(message, see, f"; for what {what} says, ", fit, ".")
            )

    def need_all_rows(self, what: str) -> Rows:
        """The same for an analysis that needs the likelihood of every row.

        Raises
        ------
        DataError
            When there are more in a file.
        """
        rows = self.need_data(what)
        if rows.stored is not None:
            raise DataError(
                f"{what} needs the likelihood of every row, and this model was fitted "
                f"to {rows.stored:,} rows in a file. Use a model that was fitted to a "
                "part of them in memory, np.array(X[:100_000])."
            )
        return rows

    def inputs_of(self, X: Any) -> Inputs:
        """Rows of inputs as an array; a data frame's by the names of its columns.

        Raises
        ------
        DataError
            When a column is missing, or there are too many.
        ValueError
            When they are not a table of finite numbers.
        """
        names = self.given.columns or self.schema.inputs
        table = np.asarray(check_array(in_order(X, names), dtype="float64"))
        if table.shape[1] != len(names):
            raise DataError(
                f"X has {table.shape[1]} columns, and rows of the model's inputs have "
                f"{len(names)}: {listing(names)}."
            )
        return table

    def observed(self, y: Any) -> np.ndarray:
        """Observations as rules check them: a column per output, or class numbers.

        Raises
        ------
        DataError
            When the model does not know a class.
        """
        known_labels = self.given.labels
        if known_labels is None:
            table = np.asarray(y, float)
            return table[:, None] if table.ndim == 1 else table
        labels = np.asarray(y)
        is_unknown = ~np.isin(labels, known_labels)
        if is_unknown.any():
            raise DataError(
                f"y has a class that the model does not know, "
                f"{str(labels[is_unknown][0])!r}. It knows "
                f"{', '.join(map(str, known_labels))}."
            )
        return np.searchsorted(known_labels, labels)

    # Its rules.

    @property
    def terms(self) -> tuple[RuleTerm, ...]:
        """Its rules with their points: terms of the density, or projected onto."""
        return self.projected_onto or self.target.rules

    @property
    def checkable_rules(self) -> tuple[BoundRule, ...]:
        """The rules that outputs can be checked against."""
        return tuple(bound for bound in self.rules if bound.is_checkable)

    def placed(self, rules: Sequence[BoundRule]) -> list[BoundRule]:
        """Those rules whose points are known, with a warning about the others."""
        known = [term.bound for term in self.terms]
        missing = [bound.name for bound in rules if bound not in known]
        if missing:
            warn(
                f"rule {missing[0]!r} cannot be checked: its points are made from data "
                "rows, and this model was saved without its data.",
                StorageWarning,
            )
        return [bound for bound in rules if bound in known]

    def term(self, bound: BoundRule) -> RuleTerm:
        """A rule with its points."""
        return next(term for term in self.terms if term.bound is bound)

    def proposed(self, rules: tuple[BoundRule, ...]) -> tuple[RuleTerm, ...]:
        """Terms of rules that it was not fitted with, with new points.

        Raises
        ------
        RuleError
            When they contradict each other.
        RegionError
            When a rule's points are made from data rows that are missing.
        """
        key = jax.random.fold_in(key_from(self.random_state), 3)
        X, Y = (None, None) if self.data is None else (self.data.X, self.data.Y)
        outputs = None if self.has_classes else Y
        return make_terms(rules, key, X, outputs, self.target.units)

    def judged(self, values: np.ndarray) -> np.ndarray:
        """Function values as rules check them: outputs, or class numbers."""
        return np.argmax(values, axis=-1) if self.has_classes else values

    def rule_values(self, X: np.ndarray, most: int | None = None) -> np.ndarray:
        """Values that rules check at `X`, of every draw that predictions use."""
        return self.judged(self.answering.functions(X, most))

    def slopes(
        self, bound: BoundRule, X: np.ndarray, most: int | None = None
    ) -> dict[Along, np.ndarray]:
        """Slopes that the rule mentions, for the same draws as `rule_values`."""
        if not bound.slopes:
            return {}
        return self.answering.slopes(X, bound.slopes, most)

    def predicted_slopes(
        self, bound: BoundRule, X: np.ndarray
    ) -> dict[Along, np.ndarray]:
        """Slopes of the mean function at rows: the mean of the slopes."""
        # In blocks, because every draw's slopes at every row need much memory.
        blocks = [
            self.slopes(bound, X[start : start + _SLOPE_ROWS])
            for start in range(0, len(X), _SLOPE_ROWS)
        ]
        return {
            along: np.concatenate([block[along].mean(axis=0) for block in blocks])
            for along in bound.slopes
        }

    # What it predicts.

    def rule_prediction(self, X: np.ndarray) -> np.ndarray:
        """The prediction at each row: outputs, or class numbers."""
        if self.has_classes:
            return self.chosen(X, self.answering.probabilities(X))
        return self.settled(X, self.answering.mean_and_sd(X)[0])

    def chosen(self, X: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        """The number of the class to predict at each row, given its probabilities."""
        return feasible_classes(kept_rules(self.rules), X, probabilities)

    def settled(self, X: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """The values to predict, given the mean at each row."""
        return feasible_means(kept_rules(self.rules), X, mean, self.answering)

    # Convergence.

    def reference_inputs(self) -> Inputs:
        """Inputs at which draws are judged: rows of the data and the rules' points."""
        points = (term.places for term in self.terms)
        reference = np.concatenate([self.rows.X, *points])
        return reference[evenly(len(reference), REFERENCE_INPUTS)]

    def judged_values(self, X: np.ndarray) -> np.ndarray:
        """Function values for convergence checks, in standard units to keep all digits.

        Every (chain, draw) has one axis for all rows and outputs.
        """
        values = self.drawn.inner_functions(np.asarray(X, float))
        return values.reshape(self.draws.chains, self.draws.draws, -1)

    def judge_at(self, X: np.ndarray) -> Verdict:
        """Judge the draws by the function's values at the rows of `X`."""
        return judge(self.draws, self.judged_values(X))
