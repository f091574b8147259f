"""The common part of the regressor and the classifier."""

import dataclasses
from typing import Any

import jax
import numpy as np
from sklearn.utils.validation import validate_data

from ocbnn.core.randomness import key_from
from ocbnn.core.types import RowNames, Unchecked
from ocbnn.core.units import Units
from ocbnn.core.warn import warn
from ocbnn.errors import InferenceWarning, SettingError
from ocbnn.estimators.fitted import FittedEstimator
from ocbnn.fitted.conclusion import conclude, obey, project_prior
from ocbnn.fitted.names import in_order, input_names
from ocbnn.fitted.record import FittedModel, Given, Rows
from ocbnn.fitted.streams import Stream, open_stream
from ocbnn.fitted.target import (
    TargetSettings,
    make_likelihood,
    make_network,
    make_target,
)
from ocbnn.inference import SMC, Choice, choose, sample
from ocbnn.inference.choice import BATCH
from ocbnn.predictive.predictive import predict_with
from ocbnn.priors.rulebook import bind_rules, make_terms
from ocbnn.refinement.hard import Answers, answering, hold, refuse_rows
from ocbnn.refinement.projection import as_obedience, refuse_without_slack
from ocbnn.refinement.rounds import Run, fit_draws
from ocbnn.refinement.settings import Refine
from ocbnn.rules import BoundRule, Schema, output_limits
from ocbnn.rules.rule import GivenRules


class BaseOCBNN(FittedEstimator):
    """Fits a Bayesian neural network to data and rules; subclasses read the outputs."""

    # Fitting, step by step.

    def _begin(self, X: Any, y: Any, *, classes: bool) -> Stream | None:
        """Forget an earlier fit; open a stream if the data are in files."""
        vars(self).pop("fitted_", None)
        names = {"inputs": self.inputs, "outputs": self.outputs}
        return open_stream(X, y, classes=classes, inference=self.inference, **names)

    def _fit(
        self,
        X: np.ndarray,
        Y: np.ndarray,
        schema: Schema,
        units: Units | None,
        given: Given,
        names: RowNames | None,
        stream: Stream | None,
        refine: Refine,
    ) -> None:
        """Fit to the given rows, or to a stream, of which they are a sample."""
        self._check_seed()
        self._check_rules_by()
        key_rules, key_run = jax.random.split(key_from(self.random_state))
        rules = bind_rules(self.rules, schema)
        rows = len(X) if stream is None else stream.rows
        is_projected = self.rules_by == "projection"
        prior_rules = rules
        if is_projected:
            # Checked before the run, which may take long.
            as_obedience(refine)
            refuse_without_slack(rules)
            prior_rules = ()
        choice = self._choose(rows, schema, prior_rules, is_stored=stream is not None)
        data = (X, Y) if stream is None else stream
        blocks = [(0, X, Y)] if stream is None else stream.blocks()
        refuse_rows(rules, blocks, names)
        numbers = Y if schema.classes is None else None
        terms = make_terms(rules, key_rules, X, numbers, units)
        priced = () if is_projected else terms
        target = make_target(
            self._target_settings(),
            schema,
            rules,
            priced,
            data,
            units,
            choice.batch_size,
        )
        settings = self.progress, self.devices, self.checkpoint
        run = Run(choice.plan, (X, Y), *settings)
        result = fit_draws(target, run, key_run, False if is_projected else refine)
        sample_rows = Rows(X, Y, names)
        if stream is not None:
            sample_rows = Rows(X, Y, stream.names_of_seen(names), stream.rows)
        fitted = FittedModel(
            schema=schema,
            rules=rules,
            choice=choice,
            data=sample_rows,
            given=given,
            scales=self.scales,
            random_state=self.random_state,
            devices=self.devices,
            projected_onto=terms if is_projected else (),
            **result._asdict(),
        )
        if is_projected:
            settings = {"progress": self.progress, "is_new": True}
            self.fitted_ = obey(fitted, refine, **settings)
        else:
            self.fitted_ = conclude(fitted)

    def _target_settings(self) -> TargetSettings:
        return TargetSettings.of(self.get_params(deep=False))

    def _choose(
        self,
        rows: int,
        schema: Schema,
        rules: tuple[BoundRule, ...],
        *,
        is_stored: bool = False,
    ) -> Choice:
        """The plan that `inference` asks for, and its batch size."""
        network = make_network(self._target_settings(), schema)
        weights = sum(leaf.size for leaf in jax.tree.leaves(network.shapes()))
        choice = choose(
            self.inference,
            rows=rows,
            weights=weights,
            has_sides=any(bound.claim.has_sides for bound in rules),
        )
        size = self.batch_size
        is_whole = isinstance(size, (int, np.integer)) and not isinstance(size, bool)
        if size is not None and (not is_whole or size < 1):
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
        """Raise an error for a checkpoint without a seed: it could not be continued."""
        seed = self.random_state
        is_whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
        if self.checkpoint is not None and not is_whole:
            raise SettingError(
                "checkpoint needs a random_state that is a whole number, so that the "
                f"same fit can be asked for again, got {seed!r}. Write random_state=0."
            )

    def _check_rules_by(self) -> None:
        if self.rules_by not in ("prior", "projection"):
            raise SettingError(
                'rules_by says how rules are obeyed, "prior" or "projection", got '
                f'{self.rules_by!r}. Write rules_by="projection", or leave it out.'
            )

    # For users of a fitted model.

    def obey(self, rules: Unchecked[GivenRules], *, refine: Refine = None) -> Any:
        """A new model: each draw of this one, moved to the nearest that obeys rules.

        Nothing is fitted again, so rules can be tried out quickly. Draws that keep
        all rules stay the same; the others get a new noise, too, given their new
        functions. This model does not change.

        Parameters
        ----------
        rules
            Rules as objects or text, one or a list. They are added to the model's
            rules; a rule with the name of an existing one replaces it.
        refine
            How draws are searched for violations, and moved again: True (the default),
            a number of rounds, or a `Refinement`. False moves them once.

        Returns
        -------
        Any
            A fitted estimator of the same kind, with `rules_by="projection"`. Its
            `projection_` says what was done, and how far draws have moved.

        Raises
        ------
        RuleError
            When rules contradict each other, or a rule cannot be searched.
        DataError
            When the model was saved without its data, or rows violate a hard rule.
        """
        fitted = self._record()
        rows = fitted.need_data("obey")
        bounds = _joined(fitted, bind_rules(rules, fitted.schema))
        refuse_without_slack(bounds)
        refuse_rows(bounds, [(0, rows.X, rows.Y)], rows.names)
        _refuse_other_limits(fitted, bounds)
        copy = self._copy()
        copy.rules = tuple(bound.rule for bound in bounds)
        copy.rules_by = "projection"
        copy.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            copy.feature_names_in_ = self.feature_names_in_
        network, units = fitted.target.network, fitted.target.units
        used_units = units or Units.plain(network.inputs, network.outputs)
        target = dataclasses.replace(
            fitted.target,
            rules=(),
            likelihood=make_likelihood(
                copy._target_settings(), fitted.schema, bounds, used_units
            ),
        )
        unprojected = dataclasses.replace(
            fitted,
            rules=bounds,
            target=target,
            projected_onto=fitted.proposed(bounds),
        )
        copy.fitted_ = obey(unprojected, refine, progress=self.progress)
        return copy

    def sample_functions(self, X: Any, count: int = 100) -> np.ndarray:
        """Functions drawn from the posterior, at the rows of `X`.

        Parameters
        ----------
        X
            Rows of inputs, an array or a data frame with the columns of the fit.
        count
            How many functions, evenly chosen from the draws; all of them if there are
            fewer.

        Returns
        -------
        np.ndarray
            An array of (draws, rows) for one output, else (draws, rows, outputs);
            for a classifier, the logits. Where a hard rule applies, a function that
            violates it has the nearest allowed value, and a forbidden class the logit
            minus infinity.
        """
        X = self._checked(X)
        values = self.fitted_.answering.functions(X, count)
        return values[..., 0] if values.shape[-1] == 1 else values

    def _checked(self, X: Any) -> np.ndarray:
        fitted = self._record()
        # Names from a data frame at the fit are checked by scikit-learn.
        if self.inputs is not None and not hasattr(self, "feature_names_in_"):
            X = in_order(X, fitted.schema.inputs)
        return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))

    def _copy(self) -> Any:
        return type(self)(**self.get_params(deep=False))

    def _sample_prior(
        self,
        X: np.ndarray,
        Y: np.ndarray | None,
        schema: Schema,
        units: Units | None,
        count: int,
    ) -> Answers:
        """Draws without data from the constrained prior, or projected onto rules."""
        self._check_rules_by()
        key_rules, key_run = jax.random.split(key_from(self.random_state))
        rules = bind_rules(self.rules, schema)
        terms = make_terms(rules, key_rules, X, Y, units)
        priced, projected_onto = terms, ()
        if self.rules_by == "projection":
            refuse_without_slack(rules)
            priced, projected_onto = (), terms
        choice = self._choose(len(X), schema, tuple(term.bound for term in priced))
        target = make_target(
            self._target_settings(),
            schema,
            rules,
            priced,
            None,
            units,
            choice.batch_size,
        )
        draws = sample(
            choice.plan if choice.plan.is_exact else SMC(),
            target,
            key_run,
            progress=self.progress,
            devices=self.devices,
        ).whole()
        predictive = predict_with(target, draws, self.devices)
        if projected_onto:
            # Only as many as are asked for, because moving them takes long.
            predictive = project_prior(
                predictive.thinned(count),
                projected_onto,
                X,
                jax.random.fold_in(key_run, 1),
                progress=self.progress,
            )
        # Functions are evaluated at these rows, so hard rules must hold there, too.
        positions = draws.stacked()
        _, kept = hold(target, positions, predictive, X, projected_onto=projected_onto)
        return answering(rules, predictive, kept)

    def _columns(self) -> tuple[str, ...] | None:
        """The column names of a data frame; None for arrays."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(str(name) for name in names)

    def _input_names(self) -> tuple[str, ...]:
        return input_names(self.inputs, self._columns(), self.n_features_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")


def _joined(fitted: FittedModel, rules: tuple[BoundRule, ...]) -> tuple[BoundRule, ...]:
    """The model's rules, with others added to them or replacing them by name."""
    by_name = {bound.name: bound for bound in fitted.rules}
    for bound in rules:
        old = by_name.get(bound.name)
        if fitted.projection is None and old is not None and old.rule != bound.rule:
            warn(
                f"rule {bound.name!r} replaces a rule that the draws were made under, "
                "and its effect on them remains. Fit without rules, or with "
                'rules_by="projection", to change rules freely afterwards.',
                InferenceWarning,
            )
    return tuple((by_name | {bound.name: bound for bound in rules}).values())


def _refuse_other_limits(fitted: FittedModel, rules: tuple[BoundRule, ...]) -> None:
    """Raise an error for new limits: draws were made with truncated observations."""
    if fitted.limits is None:
        return
    new_limits = output_limits(rules, len(fitted.schema.outputs))
    if not np.array_equal(fitted.limits, new_limits):
        raise SettingError(
            "truncate=True takes the limits of observations from rules without a "
            "region, and the draws were made under other limits than these rules set. "
            "Give the rule a region, or fit again with it."
        )
