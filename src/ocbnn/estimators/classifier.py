"""Classification under rules."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ocbnn.analysis.pictures import plot_classes
from ocbnn.core.scales import Measured, make_units
from ocbnn.core.types import RowNames, Unchecked
from ocbnn.core.units import Units
from ocbnn.errors import DataError
from ocbnn.estimators.base import BaseOCBNN
from ocbnn.fitted.names import make_schema, names_of_rows, target_names
from ocbnn.fitted.record import Given
from ocbnn.fitted.streams import Stream
from ocbnn.posterior import Categorical
from ocbnn.posterior.masks import ClassMask
from ocbnn.refinement.hard import hard_rules
from ocbnn.refinement.settings import Refine
from ocbnn.rules import BoundRule, Schema


class OCBNNClassifier(ClassifierMixin, BaseOCBNN):
    """A Bayesian neural network for classes that obeys rules.

    Rules say which classes are allowed where: `"if mean_bp < 65 then action in
    {treat}"`. Without names, inputs are `x` (or `x0`, `x1`, …) and the class is `y`.
    The settings are those of `OCBNNRegressor`, without noise.

    Attributes
    ----------
    classes_
        The class labels, in the order of the columns of `predict_proba`.
    draws_
        The posterior draws.
    verdict_
        Whether the draws can be trusted, in words.
    held_
        The effect of rules of `strength="hard"` on the draws; None without such rules.
    relevance_
        How much each input matters, with intervals; None unless the weight prior is
        learned.

    Examples
    --------
    >>> import numpy as np, ocbnn
    >>> X = np.linspace(-2, 2, 40)[:, None]
    >>> y = np.where(X[:, 0] > 0, "high", "low")
    >>> model = ocbnn.OCBNNClassifier(
    ...     rules="if 3 <= x <= 4 then y in {low} [weight=1]",
    ...     hidden=(5,),
    ...     inference=ocbnn.NUTS(chains=2, warmup=300, draws=300),
    ...     random_state=0,
    ... )
    >>> model.fit(X, y).predict([[-1.0], [1.0], [3.5]]).tolist()
    ['low', 'high', 'low']
    """

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        refine: Refine = None,
        row_names: Unchecked[RowNames | None] = None,
    ) -> "OCBNNClassifier":
        """Draw from the posterior given data and rules.

        A memory-mapped `X` is read in batches, and firm rules are refined, as by
        `OCBNNRegressor`. Hard rules are not refined: classes that they forbid are
        masked.
        """
        names = names_of_rows(row_names, X)
        stream = self._begin(X, y, classes=True)
        sample = (X, y) if stream is None else stream.seen
        X, codes, schema, given = self._data(*sample, stream)
        units = self._units(X if stream is None else stream.x, schema)
        self._fit(X, codes, schema, units, given, names, stream, refine)
        return self

    @property
    def classes_(self) -> np.ndarray:
        """The class labels, in the order of the columns of `predict_proba`."""
        labels = self._record().given.labels
        assert labels is not None
        return labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, averaged over the posterior.

        Zero where a hard rule forbids a class; classes that a firm rule forbids keep
        the probability that the draws give them.
        """
        X = self._checked(X)
        return self.fitted_.answering.probabilities(X)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class among those that firm and hard rules allow.

        Although each draw keeps a firm rule, their mean probability may be largest for
        a class that it forbids. That class is not predicted.
        """
        X = self._checked(X)
        return self.classes_[self.fitted_.rule_prediction(X)]

    def plot(self, ax: Any = None, *, along: Any = None) -> Any:
        """Draw the predicted class over two inputs, with the data and the rules.

        Parameters
        ----------
        ax
            Matplotlib axes; by default, a new figure.
        along
            Two inputs, by name or position; by default, the first two. Other inputs
            are held at their medians.
        """
        return plot_classes(self._record(), ax, along)

    def sample_prior(self, X: Any, y: Any, count: int = 100) -> np.ndarray:
        """Class probabilities of functions drawn from the constrained prior.

        `X` and `y` only give the names of columns and classes. With
        `rules_by="projection"`, they are functions drawn without rules, each moved to
        the nearest that obeys.

        Returns
        -------
        np.ndarray
            An array of (draws, rows, classes).
        """
        # On a copy, because this must not change a fitted model.
        copy = self._copy()
        X, _, schema, _ = copy._data(X, y)
        units = copy._units(X, schema)
        predictive = copy._sample_prior(X, None, schema, units, count)
        logits = predictive.functions(X, count)
        shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return shifted / shifted.sum(axis=-1, keepdims=True)

    def _data(
        self, X: Any, y: Any, stream: Stream | None = None
    ) -> tuple[np.ndarray, np.ndarray, Schema, Given]:
        original = y
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if stream is not None and stream.classes is not None:
            classes = stream.classes
            codes = np.searchsorted(classes, y)
        if len(classes) < 2:
            single_class = str(classes[0])
            rows = len(y) if stream is None else stream.rows
            raise DataError(
                f"y has one class only, {single_class!r}, in all of its {rows} rows. A "
                "classifier needs at least two classes to tell apart."
            )
        name = target_names(self.outputs, original, 1)
        labels = tuple(classes.tolist())
        schema = make_schema(X, self._input_names(), name, self.choices, labels)
        return X, codes, schema, Given(self._columns(), 1, classes)

    def _units(self, X: Measured, schema: Schema) -> Units | None:
        logits = len(schema.classes or ())
        return make_units(self.standardize, self.scales, schema.inputs, X, None, logits)

    def _likelihood(
        self, schema: Schema, rules: tuple[BoundRule, ...], units: Units
    ) -> Categorical:
        hard = hard_rules(rules)
        return Categorical(ClassMask(units, hard) if hard else None)
