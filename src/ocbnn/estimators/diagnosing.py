"""Fitted models that say whether to trust them, and which rules fight the data."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from ocbnn.estimators.conflict import ConflictReport
from ocbnn.estimators.conflicts import find_conflicts
from ocbnn.estimators.diagnostic_pictures import plot_diagnostics
from ocbnn.estimators.explaining import explain_rules
from ocbnn.estimators.explanation import Explanations
from ocbnn.estimators.export import to_arviz
from ocbnn.estimators.keeping import Keepable
from ocbnn.estimators.report import Report
from ocbnn.estimators.reporting import make_report


class Diagnosable(Keepable):
    """A fitted model that can be asked how far it can be trusted."""

    def report(self) -> Report:
        """What was fitted, whether to trust it and where not, and what to do next.

        Print it; `to_dict()` gives the same for machines.
        """
        self._ready_for("report")
        return make_report(self)

    def conflicts(
        self, extra: Any = (), *, refit: bool = False, evidence: Any = False
    ) -> ConflictReport:
        """Which rules pull against the data, how hard, and at which rows.

        Args:
            extra: Rules to try out that the model was not fitted with.
            refit: Fit once more for every rule, with or without it, where weighting
                the draws that are there would only guess.
            evidence: Estimate each rule's Bayes factor: True, or an `SMC` plan.
        """
        self._ready_for("conflicts")
        self._need_all_rows("conflicts")
        return find_conflicts(self, extra, refit=refit, evidence=evidence)

    def explain(self, rule: Any = None, *, refit: Any = None) -> Explanations:
        """What a rule does: where it binds, what it removed, which rows it fights.

        It compares the fit with what it would be without the rule. Where weighting the
        draws can tell, that takes seconds; else the model is fitted again without the
        rule, and the second fit is kept for further questions. Rules that follow from
        other rules are named.

        Args:
            rule: Its name; every rule when left out.
            refit: True fits again for each rule, False never. Left out, it is done
                where weights cannot be trusted, as long as all second fits together
                take no more than two minutes.
        """
        self._ready_for("explain")
        self._need_all_rows("explain")
        return explain_rules(self, rule, refit=refit)

    def plot_diagnostics(
        self,
        kind: str = "mixing",
        *,
        along: Any = None,
        output: Any = None,
        at: Any = None,
    ) -> Any:
        """Draw whether the draws can be trusted; returns a Matplotlib figure.

        Args:
            kind: `mixing` (R-hat and sample size along an input), `trace` (every chain,
                and its ranks, at one input), `energy`, or `progress` (the warm-up).
            along: The input of `mixing`, by name or position.
            output: The output, likewise.
            at: One row of inputs: where `trace` looks (where chains disagree most when
                left out), and where `mixing` holds the other inputs (their medians).
        """
        self._ready_for("plot_diagnostics")
        return plot_diagnostics(self, kind, along, output, at)

    def to_arviz(self, X: Any = None, *, weights: bool = False) -> Any:
        """The draws for ArviZ: InferenceData of ArviZ 0.x, or a DataTree of 1.x.

        Rows that the fit read from a file have no log likelihood there.

        Args:
            X: Inputs at which the function is told; some reference inputs by default.
            weights: Whether the network's weights come along.
        """
        self._ready_for("to_arviz")
        return to_arviz(self, X, weights=weights)

    def _ready_for(self, what: str) -> None:
        check_is_fitted(self, "draws_")
        self._need_data(what)
