"""What the regressor and the classifier have in common."""

import abc
import dataclasses
import warnings
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ocbnn.core.errors import InferenceWarning, SettingError
from ocbnn.core.randomness import key_from
from ocbnn.core.types import Along, RandomKey
from ocbnn.core.units import Units
from ocbnn.estimators.holding import Answers, Holdable, answering, hold, refuse_rows
from ocbnn.estimators.names import in_order, input_names, refuse_other_columns
from ocbnn.estimators.reference import judged_values, reference_inputs
from ocbnn.estimators.refinement import RefinementRecord
from ocbnn.estimators.refining import fit_draws
from ocbnn.estimators.rulebook import LOOKED_AT, bind_rules, make_terms
from ocbnn.estimators.streams import Stream
from ocbnn.inference import SMC, Choice, Draws, Plan, Verdict, choose, judge, sample
from ocbnn.inference.choice import BATCH
from ocbnn.inference.layout import chosen_devices
from ocbnn.metrics import RuleCheck, check_rule
from ocbnn.networks import MLP, EquinoxNetwork, Network
from ocbnn.posterior import Likelihood, Target
from ocbnn.predictive import Predictive
from ocbnn.predictive.pointwise import log_parts
from ocbnn.priors import RuleTerm, WeightPrior
from ocbnn.rules import BoundRule, Schema

# What is fitted to: inputs and outputs in memory, or in files.
Data: TypeAlias = tuple[np.ndarray, np.ndarray] | Stream
# Rows whose slopes are held in memory at a time.
_SLOPE_ROWS = 1000


class RuleFollower(Holdable, BaseEstimator, abc.ABC):
    """Fits a Bayesian neural network to data and rules. Subclasses say to what."""

    def __init__(
        self,
        rules: Any = (),
        *,
        inputs: Any = None,
        outputs: Any = None,
        choices: Any = None,
        hidden: Any = (50,),
        activation: Any = "rbf",
        network: Any = None,
        weight_prior: Any = "fan-in",
        weight_scale: Any = 1.0,
        standardize: Any = True,
        scales: Any = None,
        inference: Any = "nuts",
        batch_size: Any = None,
        random_state: Any = None,
        progress: Any = "auto",
        checkpoint: Any = None,
        devices: Any = None,
    ) -> None:
        self.rules = rules
        self.inputs = inputs
        self.outputs = outputs
        self.choices = choices
        self.hidden = hidden
        self.activation = activation
        self.network = network
        self.weight_prior = weight_prior
        self.weight_scale = weight_scale
        self.standardize = standardize
        self.scales = scales
        self.inference = inference
        self.batch_size = batch_size
        self.random_state = random_state
        self.progress = progress
        self.checkpoint = checkpoint
        self.devices = devices

    n_features_in_: int  # set by scikit-learn's validation
    refinement_: RefinementRecord | None

    # What subclasses know.

    @abc.abstractmethod
    def _likelihood(self, units: Units, outputs: int) -> Likelihood: ...

    # Fitting, step by step.

    def _fit(
        self,
        X: np.ndarray,
        Y: np.ndarray,
        schema: Schema,
        units: Units | None,
        stream: Stream | None = None,
        refine: object = None,
    ) -> None:
        """Fit to the rows given, or to those of a stream that they are some of."""
        self._check_seed()
        key_rules, key_run = jax.random.split(key_from(self.random_state))
        self.schema_ = schema
        self.rules_ = bind_rules(self.rules, schema)
        rows = len(X) if stream is None else stream.rows
        self.choice_ = self._choose(rows, X.shape[1], is_stored=stream is not None)
        data = (X, Y) if stream is None else stream
        blocks = [(0, X, Y)] if stream is None else stream.blocks()
        refuse_rows(self.rules_, blocks, self._row_names)
        self.target_ = self._target(key_rules, X, Y, units, data)
        self._X, self._Y = X, Y
        self._stored_rows = None if stream is None else rows
        if stream is not None:
            self._row_names = stream.names_of_seen(self._row_names)
        fit_draws(self, refine, key_run)
        self._hold()

    def _target(
        self,
        key: RandomKey,
        X: np.ndarray,
        Y: np.ndarray | None,
        units: Units | None,
        data: Data | None,
    ) -> Target:
        numbers = Y if self.schema_.classes is None else None
        terms = make_terms(self.rules_, key, X, numbers, units)
        return self._assemble(terms, data, units)

    def _assemble(
        self,
        terms: tuple[RuleTerm, ...],
        data: Data | None,
        units: Units | None,
    ) -> Target:
        """The log density, once the rules' points have their places."""
        classes, inputs = self.schema_.classes, len(self.schema_.inputs)
        outputs = self._output_count()
        known = units or Units.plain(inputs, outputs)
        inner_x = inner_y = None
        if isinstance(data, Stream):
            inner_x, inner_y = data.stored(known)
        elif data is not None:
            X, Y = data
            inner_x = jnp.asarray(known.standard_inputs(X), float)
            inner_y = (
                jnp.asarray(known.standard_outputs(Y), float)
                if classes is None
                else jnp.asarray(Y, jnp.int32)
            )
        return Target(
            self._network(inputs, outputs),
            WeightPrior(self.weight_prior, self.weight_scale),
            self._likelihood(known, outputs),
            terms,
            inner_x,
            inner_y,
            units,
            self.choice_.batch_size,
        )

    def _network(self, inputs: int, outputs: int) -> Network:
        if self.network is None:
            return MLP(inputs, self.hidden, outputs, self.activation)
        if isinstance(self.network, Network):
            made = self.network
        else:
            made = EquinoxNetwork(self.network, inputs)
        if (made.inputs, made.outputs) != (inputs, outputs):
            raise SettingError(
                f"the network maps {made.inputs} inputs to {made.outputs} outputs, but "
                f"the data have {inputs} and {outputs}. Build it for the data."
            )
        return made

    def _output_count(self) -> int:
        classes = self.schema_.classes
        return len(self.schema_.outputs) if classes is None else len(classes)

    def _choose(self, rows: int, inputs: int, *, is_stored: bool = False) -> Choice:
        """The plan that `inference` asks for, and what goes with it."""
        network = self._network(inputs, self._output_count())
        weights = sum(leaf.size for leaf in jax.tree.leaves(network.shapes()))
        choice = choose(
            self.inference,
            rows=rows,
            weights=weights,
            has_sides=any(bound.has_sides for bound in self.rules_),
        )
        size = self.batch_size
        whole = isinstance(size, (int, np.integer)) and not isinstance(size, bool)
        if size is not None and (not whole or size < 1):
            raise SettingError(
                f"batch_size must be None or a whole number above zero, got {size!r}."
            )
        if size is not None and not choice.plan.is_batched:
            raise SettingError(
                f"{choice.plan.label} needs all rows at every step, so batch_size="
                f'{size} would be ignored. Leave it out, or write inference="sghmc".'
            )
        if size is None and is_stored:
            size = choice.batch_size or BATCH
        if size is None:
            return choice
        return dataclasses.replace(choice, batch_size=int(size))

    def _check_seed(self) -> None:
        """A run can be continued only by someone who can begin it again."""
        seed = self.random_state
        whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
        if self.checkpoint is not None and not whole:
            raise SettingError(
                "checkpoint needs a random_state that is a whole number, so that the "
                f"same fit can be asked for again, got {seed!r}. Write random_state=0."
            )

    def _draw(self, plan: Plan, key: RandomKey, **run: Any) -> Draws:
        """Run a plan on the target; the draws are the model's until the next run."""
        self.draws_ = sample(
            plan,
            self.target_,
            key,
            progress=self.progress,
            devices=self.devices,
            **run,
        )
        self._predictive = self._predict_with(self.draws_)
        return self.draws_

    def _conclude(self) -> None:
        """Judge the draws, and warn where they are poor."""
        self.verdict_ = self.judge_at(reference_inputs(self))
        if self.verdict_.status in ("poor", "unknown"):
            warnings.warn(str(self.verdict_), InferenceWarning, stacklevel=5)

    def _predict_with(self, draws: Draws) -> Predictive:
        target = self.target_
        stacked = draws.stacked()
        chosen = () if self.devices is None else chosen_devices(self.devices)
        # Each process predicts by itself, so that asking one does not need the others.
        own = tuple(one for one in chosen if one.process_index == jax.process_index())
        return Predictive(target.network, target.likelihood, stacked, target.units, own)

    def judge_at(self, X: Any) -> Verdict:
        """Judge the draws by the function's values at the rows of `X`."""
        check_is_fitted(self, "draws_")
        return judge(self.draws_, judged_values(self, X))

    # What people ask of a fitted model.

    def sample_functions(self, X: Any, count: int = 100) -> np.ndarray:
        """Functions drawn from the posterior, at the rows of `X`.

        Returns:
            An array of (draws, rows) for one output, else (draws, rows, outputs);
            for a classifier, the logits. Where a hard rule speaks, a function that
            breaks it has the nearest allowed value, and a forbidden class the logit
            minus infinity.
        """
        X = self._checked(X)
        values = self._answering.functions(X, count)
        return values[..., 0] if values.shape[-1] == 1 else values

    def check_rules(
        self, points: int = 1000, X: Any = None, y: Any = None, *, of: Any = None
    ) -> list[RuleCheck]:
        """How well each rule holds, at fresh points of its region and on rows.

        Of rows that the fit read from a file, 10,000 are looked at.

        Args:
            points: How many points of each region to look at.
            X: Rows to look at in the place of the training data.
            y: What was observed there, if it was.
            of: Another fitted model, whose rules are asked about in the place of this
                model's own: how far would a model break them that never heard of them?
        """
        check_is_fitted(self, "draws_")
        whose = self if of is None else of
        check_is_fitted(whose, "draws_")
        refuse_other_columns(self.schema_, whose.schema_)
        rows, observed = self._X, self._Y
        if X is not None:
            rows = self._checked(X)
            observed = None if y is None else self._as_observed(y)
        return [
            self._check_rule(whose, bound, points, rows, observed)
            for bound in whose._placed(whose.checkable_rules_)
        ]

    @property
    def checkable_rules_(self) -> tuple[BoundRule, ...]:
        """The rules that data can break: all but custom ones."""
        return tuple(bound for bound in self.rules_ if bound.is_checkable)

    def log_density_parts(self, draws: int = 200) -> dict[str, float]:
        """The mean share of weights, each rule and the data in the log density."""
        check_is_fitted(self, "draws_")
        self._need_all_rows("log_density_parts")
        some = self.draws_.thinned(draws)
        shares = log_parts(self.target_, some)
        return {name: float(np.mean(values)) for name, values in shares.items()}

    def _check_rule(
        self,
        whose: Any,
        bound: BoundRule,
        count: int,
        X: np.ndarray | None,
        observed: np.ndarray | None,
    ) -> RuleCheck:
        term = next(t for t in whose.target_.rules if t.bound is bound)
        # More points than the rule was felt at, and none of those.
        xs = term.many(jax.random.key(LOOKED_AT), count)
        if bound.rule.held == "hard":
            # What is promised is promised inside, not a rounding error outside.
            xs = xs[bound.applies(xs)] if bound.applies(xs).any() else xs
        return check_rule(
            bound,
            xs,
            self._rule_values(xs, 1000),
            X=X,
            observed=observed,
            predicted=None if X is None else self._rule_prediction(X),
            slopes=self._slopes(bound, xs, 1000),
            predicted_slopes={} if X is None else self._predicted_slopes(bound, X),
        )

    def _slopes(
        self, bound: BoundRule, X: np.ndarray, most: int | None = None
    ) -> dict[Along, np.ndarray]:
        """Slopes that the rule speaks of, of the same draws as `_rule_values`."""
        if not bound.slopes:
            return {}
        return self._answering.slopes(X, bound.slopes, most)

    def _predicted_slopes(
        self, bound: BoundRule, X: np.ndarray
    ) -> dict[Along, np.ndarray]:
        """Slopes of the mean function at rows: the mean of the slopes."""
        # Block by block, because every draw's slopes at every row need much memory.
        blocks = [
            self._slopes(bound, X[start : start + _SLOPE_ROWS])
            for start in range(0, len(X), _SLOPE_ROWS)
        ]
        return {
            along: np.concatenate([block[along].mean(axis=0) for block in blocks])
            for along in bound.slopes
        }

    @abc.abstractmethod
    def _rule_prediction(self, X: np.ndarray) -> np.ndarray: ...

    @abc.abstractmethod
    def _as_observed(self, y: Any) -> np.ndarray:
        """Observations as rules judge them: a column per output, or class numbers."""

    def _checked(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "draws_")
        # Names that a data frame brought to the fit are compared by scikit-learn.
        if self.inputs is not None and not hasattr(self, "feature_names_in_"):
            X = in_order(X, self.schema_.inputs)
        return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))

    def _copy(self) -> Any:
        return type(self)(**self.get_params(deep=False))

    def _sample_prior(
        self, X: np.ndarray, Y: np.ndarray | None, schema: Schema, units: Units | None
    ) -> Answers:
        """Draws from the constrained prior, with no data in it."""
        key_rules, key_run = jax.random.split(key_from(self.random_state))
        self.schema_ = schema
        self.rules_ = bind_rules(self.rules, schema)
        self.choice_ = self._choose(*X.shape)
        self.target_ = self._target(key_rules, X, Y, units, None)
        # Functions are asked for at these rows, so hard rules are judged there, too.
        self._X, self._Y = X, Y
        plan = self.choice_.plan if self.choice_.plan.is_exact else SMC()
        draws = sample(
            plan,
            self.target_,
            key_run,
            progress=self.progress,
            devices=self.devices,
        ).whole()
        _, kept = hold(self, draws)
        return answering(self, self._predict_with(draws), kept)

    def _input_names(self) -> tuple[str, ...]:
        found = getattr(self, "feature_names_in_", None)
        return input_names(self.inputs, found, self.n_features_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "draws_")
