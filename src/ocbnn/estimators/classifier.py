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
from ocbnn.refinement.settings import Refine
from ocbnn.rules import Schema


class OCBNNClassifier(ClassifierMixin, BaseOCBNN):
    """A Bayesian neural network for classes that obeys rules.

    Rules say which classes are allowed where:
    `"if mean_bp < 65 then action in {treat}"`.

    Parameters
    ----------
    rules
        Rules as objects or text, one or a list. Names are the columns of a data frame;
        without names, inputs are `x` (or `x0`, `x1`, …) and the class is `y`.
    rules_by
        How rules are enforced. `prior`: they are multiplied into the prior, as in the
        paper. `projection`: draws are made without them, and each is then moved to the
        nearest function that obeys; `projection_` says how far.
    inputs
        Names of the columns of `X`, for arrays that have none.
    outputs
        The name of `y`.
    choices
        Groups of inputs, by name or position, of which exactly one is 1: the values of
        a category, `[["clinic=east", "clinic=north"]]`. Points of rules, searches and
        proofs then have exactly one of them.
    hidden
        Units of each hidden layer.
    activation
        `rbf`, `tanh`, `relu`, `silu` or another known name.
    network
        Your own network, or any Equinox module, instead of an MLP.
    weight_prior
        `learned` (the default): a scale for each layer and a relevance for each input,
        learned with the weights. Or fixed scales: `fan-in`, `isotropic` (the paper's),
        `student-t` (heavy tails). Objects say more: `LayerScales(...)`,
        `StudentT(...)`, `LearnedScales(...)`, or a `Prior` of your own.
    weight_scale
        The prior's standard deviation or scale; for learned scales, their median. It
        multiplies the scales of an object.
    standardize
        Work on standardised columns. Rules stay in your units.
    scales
        Origin and step of some inputs, used instead of mean and spread:
        `{"mean_bp": (65, 1)}`. Functions can change sharply within a few steps of the
        origin; use it where a rule begins at a threshold of an input and data are close
        to it.
    inference
        "auto", the name of an algorithm ("nuts", "smc", "svgd" and others), or a plan
        with settings. What "auto" chose, and why, is in `choice_`.
    batch_size
        Rows per step, for algorithms that take batches (`svgd` and others); by default
        all rows, or 512 if they are in a file.
    random_state
        The seed.
    progress
        True, False, or `auto`: a bar on a terminal.
    checkpoint
        A folder to save the run in. After a crash or Ctrl-C, the same fit with the same
        folder continues from there and ends with the same draws.
    devices
        How many of JAX's devices to use, or which: a number, "all", "cpu", "gpu", or a
        list. Draws and predictions are the same within rounding.

    Attributes
    ----------
    classes_
        The class labels, in the order of the columns of `predict_proba`.
    draws_
        The posterior draws.
    verdict_
        Whether the draws can be trusted, in words.
    choice_
        The plan, and why it was chosen.
    rules_
        The rules, bound to columns.
    schema_
        The names of columns and classes.
    target_
        The log density of the draws.
    refinement_
        The record of a refinement; None if there was none.
    projection_
        The record of a projection onto the rules; None if there was none.
    held_
        The effect of rules of `strength="hard"`: how many draws keep them, and their
        effective sample size. None without such rules.
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

        If `X` is a memory-mapped file, as from `np.load(path, mmap_mode="r")`, and
        `inference` takes batches, rows are read when needed: see docs/scaling.md.

        Parameters
        ----------
        X
            Inputs (rows, inputs), an array or a data frame.
        y
            The class of each row: labels of any kind, at least two different ones.
        refine
            Search for inputs at which draws violate rules, and fit again with the rules
            evaluated there: True, a number of rounds, or a `Refinement`. By default,
            rules with `strength="firm"` are refined; False refines none. Hard rules
            need none: classes that they forbid are masked. `refinement_` says what was
            done. With `rules_by="projection"` it says how often draws are searched and
            moved.
        row_names
            Names of the rows in reports and errors. By default, a data frame's index,
            or numbers counted from 0.

        Returns
        -------
        OCBNNClassifier
            The estimator itself.

        Raises
        ------
        RuleError
            When a rule makes no sense, or does not fit the columns.
        DataError
            When `y` has one class only, or rows violate a hard rule.
        SettingError
            When a setting lies outside its range, or does not fit the others.
        InferenceError
            When the log density is not finite, or too few draws keep the hard rules.
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

        Parameters
        ----------
        X
            Rows of inputs, an array or a data frame with the columns of the fit.

        Returns
        -------
        np.ndarray
            An array of (rows, classes), with one column for each entry of `classes_`.
        """
        X = self._checked(X)
        return self.fitted_.answering.probabilities(X)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class among those that firm and hard rules allow.

        Although each draw keeps a firm rule, their mean probability may be largest for
        a class that it forbids. That class is not predicted.

        Parameters
        ----------
        X
            Rows of inputs, an array or a data frame with the columns of the fit.

        Returns
        -------
        np.ndarray
            A label for each row.
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

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        SettingError
            When there is no such input or output.
        DataError
            When the model was saved without its data.
        """
        return plot_classes(self._record(), ax, along)

    def sample_prior(self, X: Any, y: Any, count: int = 100) -> np.ndarray:
        """Class probabilities of functions drawn from the constrained prior.

        They show what rules imply without data. With `rules_by="projection"`, they are
        functions drawn without rules, each moved to the nearest that obeys. The
        estimator need not be fitted, and does not change.

        Parameters
        ----------
        X
            Rows of inputs. They also give the names of the columns, and their units if
            columns are standardised.
        y
            Labels, for the names of the classes only.
        count
            How many functions, at most.

        Returns
        -------
        np.ndarray
            An array of (draws, rows, classes).

        Raises
        ------
        DataError
            When `y` has one class only.
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
