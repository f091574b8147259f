"""Methods of every fitted estimator: a thin layer over its `FittedModel`."""

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ocbnn.analysis.checks import CheckedRules, check_rules, log_density_parts
from ocbnn.analysis.conflict import ConflictReport, conflicts
from ocbnn.analysis.diagnostic_pictures import plot_diagnostics
from ocbnn.analysis.explanation import explain
from ocbnn.analysis.explanation_page import Explanations
from ocbnn.analysis.export import to_arviz
from ocbnn.analysis.relevance import Relevance, plot_relevance, relevance
from ocbnn.analysis.report import Report, make_report
from ocbnn.certificates.arguments import BOXES, CONFIDENCE, DRAWS, CertifiedRule
from ocbnn.certificates.certificate import Certificate
from ocbnn.certificates.certification import certify
from ocbnn.core.types import Unchecked
from ocbnn.estimators.settings import Settings
from ocbnn.fitted import FittedModel, refine as refine_fitted
from ocbnn.inference import SMC, Choice, Draws, Verdict
from ocbnn.metrics import RuleCheck
from ocbnn.metrics.hard_rules import HardRuleRecord
from ocbnn.posterior import Target
from ocbnn.refinement.projected import ProjectionRecord
from ocbnn.refinement.record import RefinementRecord
from ocbnn.refinement.settings import Refine
from ocbnn.rules import BoundRule, Schema
from ocbnn.rules.rule import GivenRules
from ocbnn.saving.writing import save_model


class FittedEstimator(Settings, BaseEstimator, abc.ABC):
    """Methods of a fitted estimator, which delegate to `fitted_`."""

    fitted_: FittedModel
    # Set by scikit-learn's validation.
    n_features_in_: int
    feature_names_in_: np.ndarray

    @abc.abstractmethod
    def _checked(self, X: Any) -> np.ndarray:
        """Validate rows of inputs against the fit."""

    def _record(self) -> FittedModel:
        check_is_fitted(self)
        return self.fitted_

    # Attributes of the fit, under scikit-learn's naming convention.

    @property
    def schema_(self) -> Schema:
        """The names of columns and classes."""
        return self._record().schema

    @property
    def rules_(self) -> tuple[BoundRule, ...]:
        """The rules, bound to columns."""
        return self._record().rules

    @property
    def target_(self) -> Target:
        """The log density that was drawn from, without rules if they are projected."""
        return self._record().target

    @property
    def choice_(self) -> Choice:
        """The plan, and why it was chosen."""
        return self._record().choice

    @property
    def draws_(self) -> Draws:
        """The posterior draws."""
        return self._record().draws

    @property
    def verdict_(self) -> Verdict:
        """Whether the draws can be trusted, in words."""
        return self._record().verdict

    @property
    def held_(self) -> HardRuleRecord | None:
        """The effect of hard rules on the draws; None without such rules."""
        return self._record().hard_rules

    @property
    def refinement_(self) -> RefinementRecord | None:
        """The record of a refinement; None if there was none."""
        return self._record().refinement

    @property
    def relevance_(self) -> Relevance | None:
        """How much each input matters; None unless the weight prior is learned."""
        return relevance(self._record())

    @property
    def projection_(self) -> ProjectionRecord | None:
        """The record of a projection onto the rules; None if there was none."""
        return self._record().projection

    # Diagnostics.

    def judge_at(self, X: Any) -> Verdict:
        """Judge the draws by the function's values at the rows of `X`."""
        return self._record().judge_at(np.asarray(X, float))

    def report(self) -> Report:
        """A report of the fit: whether and where to trust it, and what to do next.

        Print it, or call its `to_dict()`.
        """
        return make_report(self._record())

    def plot_diagnostics(
        self,
        kind: str = "mixing",
        *,
        along: Any = None,
        output: Any = None,
        at: Any = None,
    ) -> Any:
        """Plot diagnostics of the draws; returns a Matplotlib figure.

        Parameters
        ----------
        kind
            `mixing` (R-hat and sample size along an input), `trace` (every chain,
            and its ranks, at one input), `energy`, or `progress` (the warm-up).
        along
            The input of `mixing`, by name or position.
        output
            The output, likewise.
        at
            One row of inputs: for `trace`, the input to show (by default, where chains
            disagree most); for `mixing`, values of the other inputs (by default, their
            medians).
        """
        return plot_diagnostics(self._record(), kind, along, output, at)

    def plot_relevance(self, ax: Any = None) -> Any:
        """Draw how much each input matters, by median and 90 % interval.

        Needs `weight_prior="learned"`.

        Parameters
        ----------
        ax
            Matplotlib axes; by default, new ones.

        Raises
        ------
        SettingError
            When no relevances were learned.
        """
        return plot_relevance(self._record(), ax)

    def to_arviz(self, X: Any = None, *, weights: bool = False) -> Any:
        """The draws for ArviZ: InferenceData of ArviZ 0.x, or a DataTree of 1.x.

        It has no log likelihood for rows that the fit read from a file.

        Parameters
        ----------
        X
            Inputs at which to include the function's values; by default, some
            reference inputs.
        weights
            Whether to include the network's weights.
        """
        rows = None if X is None else self._checked(X)
        return to_arviz(self._record(), rows, weights=weights)

    # Rules.

    def check_rules(
        self,
        points: int = 1000,
        X: Any = None,
        y: Any = None,
        *,
        rules: CheckedRules = None,
    ) -> list[RuleCheck]:
        """How well each rule holds, at fresh points of its region and on rows.

        If the fit read its rows from a file, 10,000 of them are checked.

        Parameters
        ----------
        points
            The number of points to check in each region.
        X
            Rows to check instead of the training data.
        y
            Observed outputs at these rows, if known.
        rules
            Rules to check instead of the model's own, whether it was fitted with
            them or not: text or rules, one or a list, or another fitted model, for
            its rules.
        """
        fitted = self._record()
        rows = None if X is None else self._checked(X)
        return check_rules(fitted, points, rows, y, rules=rules)

    def log_density_parts(self, draws: int = 200) -> dict[str, float]:
        """The mean share of weights, each rule and the data in the log density.

        Rules of a projection are not terms of the density, and have no share.
        """
        return log_density_parts(self._record(), draws)

    def conflicts(
        self,
        extra: Unchecked[GivenRules] = (),
        *,
        refit: bool = False,
        evidence: bool | SMC = False,
    ) -> ConflictReport:
        """Which rules conflict with the data, how strongly, and at which rows.

        Parameters
        ----------
        extra
            Additional rules to try, which the model was not fitted with.
        refit
            Fit again, with or without a rule, where reweighting the existing draws
            would be unreliable.
        evidence
            Estimate each rule's Bayes factor: True, or an `SMC` plan.
        """
        options = {"refit": refit, "evidence": evidence, "progress": self.progress}
        return conflicts(self._record(), extra, **options)

    def explain(
        self, rule: Unchecked[str | None] = None, *, refit: bool | None = None
    ) -> Explanations:
        """What a rule does: where it binds, what it removed, which rows oppose it.

        It compares the fit with a fit without the rule. Where reweighting the draws is
        reliable, that takes seconds; otherwise the model is fitted again without the
        rule, and the second fit is kept for later calls. Rules that follow from other
        rules are named.

        Parameters
        ----------
        rule
            Its name; by default, every rule.
        refit
            True fits again for each rule, False never. By default, the model is
            fitted again where weights cannot be trusted, as long as all second fits
            together take no more than two minutes.
        """
        return explain(self._record(), rule, refit=refit, progress=self.progress)

    def certify(
        self,
        rule: CertifiedRule = None,
        *,
        at: Any = None,
        tolerance: Any = None,
        within: Mapping[str, Any] | None = None,
        draws: int | str = DRAWS,
        boxes: int = BOXES,
        confidence: float = CONFIDENCE,
    ) -> Certificate:
        """Prove for each posterior draw that it keeps a rule at every input.

        The arguments are those of `ocbnn.certify`.
        """
        return certify(
            self._record(),
            rule,
            at=at,
            tolerance=tolerance,
            within=within,
            draws=draws,
            boxes=boxes,
            confidence=confidence,
            progress=self.progress,
        )

    def refine(self, refine: Refine = True) -> Any:
        """Fit again to the same data, with the rules refined.

        It starts from the rules as given, without the effects of earlier refinements.

        Parameters
        ----------
        refine
            True, a number of rounds, or a `Refinement`.

        Returns
        -------
        Any
            The estimator, with new draws. `refinement_` says what was done.
        """
        self.fitted_ = refine_fitted(self._record(), refine, progress=self.progress)
        return self

    def save(
        self, path: Any, *, data: bool = True, leave_out: Sequence[str] = ()
    ) -> None:
        """Write the fitted model to a file that `ocbnn.load` reads back.

        Parameters
        ----------
        path
            A file if the name ends in `.ocbnn`, else a folder. An existing model is
            replaced.
        data
            Save the training data, too; if rows were read from a file, the 10,000
            that reports use. Without them the model predicts as before, but cannot
            plot, report, check rules against the data, or say what the data add to
            the log density.
        leave_out
            Settings that cannot be saved, such as your own network. Pass them again
            when loading: `ocbnn.load(path, network=...)`.

        Raises
        ------
        StorageError
            When something of the model cannot be written.
        """
        settings = self.get_params(deep=False)
        save_model(self._record(), settings, path, data=data, leave_out=leave_out)
