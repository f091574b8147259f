"""Methods of every fitted estimator: a thin layer over its `FittedModel`."""

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ocbnn.analysis.checks import CheckedRules, check_rules, log_density_parts
from ocbnn.analysis.conflict import conflicts
from ocbnn.analysis.conflict_page import ConflictReport
from ocbnn.analysis.diagnostic_pictures import plot_diagnostics
from ocbnn.analysis.explanation import explain
from ocbnn.analysis.explanation_page import Explanations
from ocbnn.analysis.export import to_arviz
from ocbnn.analysis.relevance import Relevance, plot_relevance, relevance
from ocbnn.analysis.report import make_report
from ocbnn.analysis.report_page import Report
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
        """Judge the draws by the function's values at the rows of `X`.

        `verdict_` judges them at rows of the training data and points of the rules.

        Parameters
        ----------
        X
            Rows of inputs, such as those whose predictions matter most.

        Returns
        -------
        Verdict
            Whether the draws can be trusted there: a status, and sentences that say
            why.
        """
        return self._record().judge_at(np.asarray(X, float))

    def report(self) -> Report:
        """A report of the fit: whether and where to trust it, and what to do next.

        Print it, or call its `to_dict()`.

        Raises
        ------
        DataError
            When the model was saved without its data.
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
        """Plot diagnostics of the draws.

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

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        SettingError
            When there is no such picture of these draws, or no such input or output.
        DataError
            When the model was saved without its data.
        """
        return plot_diagnostics(self._record(), kind, along, output, at)

    def plot_relevance(self, ax: Any = None) -> Any:
        """Draw how much each input matters, by median and 90 % interval.

        Needs `weight_prior="learned"`.

        Parameters
        ----------
        ax
            Matplotlib axes; by default, new ones.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

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

        Raises
        ------
        MissingPackageError
            When ArviZ is not installed.
        DataError
            When the model was saved without its data.
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

        Returns
        -------
        list[RuleCheck]
            For each rule, among other things, the share of (draw, point) pairs that
            violate it: `violation`.

        Raises
        ------
        RuleError
            When a rule cannot be checked, or does not fit these columns.
        SettingError
            When the other model has other columns.
        """
        fitted = self._record()
        rows = None if X is None else self._checked(X)
        return check_rules(fitted, points, rows, y, rules=rules)

    def log_density_parts(self, draws: int = 200) -> dict[str, float]:
        """The mean share of weights, each rule and the data in the log density.

        Rules of a projection are not terms of the density, and have no share.

        Parameters
        ----------
        draws
            How many draws to average over, at most.

        Returns
        -------
        dict[str, float]
            The shares by name: "weights", "rule 'NAME'" for each rule, and "data".

        Raises
        ------
        DataError
            When the model was saved without its data, or rows were read from a file.
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

        Returns
        -------
        ConflictReport
            Print it, or call its `to_dict()`.

        Raises
        ------
        RuleError
            When an additional rule makes no sense, or does not fit these columns.
        DataError
            When the model was saved without its data, or rows were read from a file.
        SettingError
            When an additional rule has the name of one of the model's, or Bayes factors
            are asked for after a projection.
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

        Returns
        -------
        Explanations
            One explanation for each rule: print them, or call `to_dict()`.

        Raises
        ------
        SettingError
            When the model has no rule of this name.
        DataError
            When the model was saved without its data, or rows were read from a file.
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

        A draw is a network with known weights, so its outputs over a box of inputs can
        be bounded. Ctrl-C stops; results until then are returned, and the rest counts
        as undecided.

        Parameters
        ----------
        rule
            The rule's name, or a rule that the model was not fitted with, as an object
            or text; every rule of the model when left out.
        at
            Rows of inputs. The rule is then examined around each, not everywhere.
        tolerance
            How far from a row an input may lie, in its own units: a number for all
            inputs, or one for each by name (others stay exactly as they are).
        within
            Bounds of inputs, `{"age": (0, 120)}`. Inputs that the rule leaves unbounded
            are examined over the range of the training data when left out; bounds on
            others restrict the region.
        draws
            The largest number of draws, evenly chosen, or "all". If the 200 of the
            default all keep a rule, and are worth as many independent ones, a new draw
            does with a probability of 98.5 % or more.
        boxes
            The largest number of boxes for each draw and place.
        confidence
            Confidence of the statement about other draws.

        Returns
        -------
        Certificate
            What was proved of each rule: print it, or `save` it with its proofs.

        Raises
        ------
        CertificateError
            When the network or the rule cannot be bounded.
        SettingError
            When an argument lies outside its range.
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

        Raises
        ------
        SettingError
            When there is no rule to refine, or draws were projected onto the rules.
        DataError
            When the model was saved without its data, or rows were read from a file.
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
