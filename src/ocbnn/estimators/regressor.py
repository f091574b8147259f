"""Regression under rules."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from ocbnn.analysis.pictures import column_index, plot_functions
from ocbnn.core.moments import ColumnMoments
from ocbnn.core.scales import Measured, make_units
from ocbnn.core.types import RowNames, Unchecked
from ocbnn.core.units import Units
from ocbnn.errors import SettingError
from ocbnn.estimators.base import BaseOCBNN
from ocbnn.fitted.names import make_schema, names_of_rows, target_names
from ocbnn.fitted.record import Given
from ocbnn.fitted.streams import refuse_constant, refuse_outside
from ocbnn.fitted.target import observation_limits
from ocbnn.predictive import Summary
from ocbnn.predictive.predictive import Limits
from ocbnn.priors.rulebook import bind_rules
from ocbnn.refinement.settings import Refine
from ocbnn.rules import Schema


@dataclasses.dataclass(eq=False, repr=False, kw_only=True)
class OCBNNRegressor(RegressorMixin, BaseOCBNN):
    """A Bayesian neural network for numbers that obeys rules.

    Parameters
    ----------
    rules
        Rules as objects or text, one or a list. Names are the columns of a data
        frame; without names, inputs are `x` (or `x0`, `x1`, …) and outputs `y`.
    rules_by
        How rules are enforced. `prior`: they are multiplied into the prior, as in the
        paper. `projection`: draws are made without them, and each is then moved to
        the nearest function that obeys; `projection_` says how far.
    inputs
        Names of the columns of `X`, for arrays that have none.
    outputs
        The name of `y`, or the names of its columns.
    choices
        Groups of inputs, by name or position, of which exactly one is 1: the
        values of a category, `[["clinic=east", "clinic=north"]]`. Points of rules,
        searches and proofs then have exactly one of them.
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
    noise
        Standard deviation of an observation in the units of `y`, one for all
        outputs or a list with one for each; `infer` learns it, and `varies` learns
        how it depends on the inputs.
    truncate
        Whether observations, too, lie within the limits that rules without a region
        set for single outputs. Otherwise those rules restrict the function only.
    standardize
        Work on standardised columns. Rules stay in your units.
    scales
        Origin and step of some inputs, used instead of mean and spread:
        `{"mean_bp": (65, 1)}`. Functions can change sharply within a few steps of the
        origin; use it where a rule begins at a threshold of an input and data are
        close to it.
    inference
        "auto", the name of an algorithm ("nuts", "smc", "svgd" and others),
        or a plan with settings. What "auto" chose, and why, is in `choice_`.
    batch_size
        Rows per step, for algorithms that take batches (`svgd` and others); by
        default all rows, or 512 if they are in a file.
    random_state
        The seed.
    progress
        True, False, or `auto`: a bar on a terminal.
    checkpoint
        A folder to save the run in. After a crash or Ctrl-C, the same fit with the
        same folder continues from there and ends with the same draws.
    devices
        How many of JAX's devices to use, or which: a number, "all", "cpu",
        "gpu", or a list. Draws and predictions are the same within rounding.

    Attributes
    ----------
    draws_
        The posterior draws.
    verdict_
        Whether the draws can be trusted, in words.
    choice_
        The plan, and why it was chosen.
    rules_
        The rules, bound to columns.
    schema_
        The names of the columns.
    target_
        The log density of the draws.
    refinement_
        The record of a refinement; None if there was none.
    projection_
        The record of a projection onto the rules; None if there was none.
    noise_
        Every draw's noise, an array of (draws, outputs) in the units of `y`;
        None when it varies, for which see `sample_noise`.
    limits_
        Lower and upper limits of each output's observations; None without `truncate`.
    held_
        The effect of rules of `strength="hard"`: how many draws keep them, and their
        effective sample size. None without such rules.
    relevance_
        How much each input matters, with intervals; None unless the weight prior is
        learned.

    Examples
    --------
    >>> import numpy as np, ocbnn
    >>> x = np.linspace(-2, 2, 20)[:, None]
    >>> model = ocbnn.OCBNNRegressor(
    ...     rules="if 3 <= x <= 4 then y >= 0",
    ...     hidden=(5,),
    ...     noise=0.1,
    ...     inference=ocbnn.NUTS(chains=2, warmup=300, draws=300),
    ...     random_state=0,
    ... )
    >>> _ = model.fit(x, np.sin(x[:, 0]))
    >>> model.check_rules()[0].violation < 0.01
    True
    """

    noise: float | Sequence[float] | np.ndarray | Literal["infer", "varies"] = "infer"
    truncate: bool = False

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        refine: Refine = None,
        row_names: Unchecked[RowNames | None] = None,
    ) -> "OCBNNRegressor":
        """Draw from the posterior given data and rules.

        If `X` is a memory-mapped file, as from `np.load(path, mmap_mode="r")`, and
        `inference` takes batches, rows are read when needed: see docs/scaling.md.

        Parameters
        ----------
        X
            Inputs (rows, inputs), an array or a data frame.
        y
            Observed outputs (rows,), or (rows, outputs) for several.
        refine
            Search for inputs at which draws violate rules, and fit again with the
            rules evaluated there: True, a number of rounds, or a `Refinement`. By
            default, rules with `strength="firm"` or `"hard"` are refined; False
            refines none. `refinement_` says what was done. With
            `rules_by="projection"` it says how often draws are searched and moved.
        row_names
            Names of the rows in reports and errors. By default, a data frame's index,
            or numbers counted from 0.

        Returns
        -------
        OCBNNRegressor
            The estimator itself.

        Raises
        ------
        RuleError
            When a rule makes no sense, or does not fit the columns.
        DataError
            When a column cannot be learned from, or rows violate a hard rule.
        SettingError
            When a setting lies outside its range, or does not fit the others.
        InferenceError
            When the log density is not finite, or too few draws keep the hard rules.
        """
        names = names_of_rows(row_names, X)
        stream = self._begin(X, y, classes=False)
        sample = (X, y) if stream is None else stream.seen
        X, Y, schema, given = self._data(*sample, must_vary=stream is None)
        if self.truncate:
            limits = observation_limits(schema, bind_rules(self.rules, schema))
            blocks = [(0, Y)] if stream is None else stream.Y.blocks()
            refuse_outside(blocks, limits, schema.outputs, names)
        measured = (X, Y) if stream is None else (stream.x, stream.y)
        units = self._units(*measured, schema)
        self._fit(X, Y, schema, units, given, names, stream, refine)
        return self

    @property
    def noise_(self) -> np.ndarray | None:
        """Every draw's noise, (draws, outputs); None when it varies."""
        return self._record().noise

    @property
    def limits_(self) -> Limits | None:
        """Lower and upper limits of observations; None without `truncate`."""
        return self._record().limits

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The posterior mean; with `return_std`, also an observation's spread.

        The standard deviation is that of a new observation: the spread of the draws
        and the noise together. With `truncate` the mean, too, is that of an
        observation, which is shifted away from a nearby limit. Where a hard rule
        applies, observations and predictions obey it: the prediction is the mean, or
        if that is forbidden, the mean of the likeliest allowed part. Where the mean
        violates a firm rule, the prediction is the mean of the draws that keep it, on
        the side where most of them are.

        Parameters
        ----------
        X
            Rows of inputs, an array or a data frame with the columns of the fit.
        return_std
            Whether to return the standard deviations, too.

        Returns
        -------
        np.ndarray
            The predictions, shaped like `y` of the fit; with `return_std`, a pair of
            predictions and standard deviations.
        """
        X = self._checked(X)
        mean, sd = self.fitted_.answering.mean_and_sd(X)
        mean, sd = self._as_given(self.fitted_.settled(X, mean)), self._as_given(sd)
        return (mean, sd) if return_std else mean

    def predict_interval(
        self, X: Any, level: float = 0.95, *, observation: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """A central interval, of new observations or of the function.

        Parameters
        ----------
        X
            Rows of inputs, an array or a data frame with the columns of the fit.
        level
            The share of probability inside.
        observation
            Whether the interval is for a new observation, or for the function itself.

        Returns
        -------
        tuple[np.ndarray, np.ndarray]
            The lower and the upper ends, each shaped like `y` of the fit.

        Raises
        ------
        SettingError
            When `level` does not lie between 0 and 1.
        """
        _check_level(level)
        X = self._checked(X)
        low, high = self.fitted_.answering.interval(
            X, level, observed=bool(observation)
        )
        return self._as_given(low), self._as_given(high)

    def predict_summary(self, X: Any, level: float = 0.95) -> Summary:
        """Mean, standard deviation and interval of a new observation.

        The same numbers as `predict` and `predict_interval` give, in half the time for
        many rows.

        Parameters
        ----------
        X
            Rows of inputs, an array or a data frame with the columns of the fit.
        level
            The share of probability inside the interval.

        Returns
        -------
        Summary
            A named tuple of `mean`, `sd`, `lower` and `upper`, each shaped like `y` of
            the fit.

        Raises
        ------
        SettingError
            When `level` does not lie between 0 and 1.
        """
        _check_level(level)
        X = self._checked(X)
        summary = self.fitted_.answering.summary(X, level)
        summary = summary._replace(mean=self.fitted_.settled(X, summary.mean))
        return Summary(*map(self._as_given, summary))

    def sample_noise(self, X: Any, count: int = 100) -> np.ndarray:
        """The noise around functions drawn from the posterior, at the rows of `X`.

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
            Standard deviations, for the functions of `sample_functions` and in their
            shape.
        """
        sds = self.fitted_.answering.noise_at(self._checked(X), count)
        return sds[..., 0] if sds.shape[-1] == 1 else sds

    def sample_slopes(self, X: Any, *along: Any, count: int = 100) -> np.ndarray:
        """Slopes of functions drawn from the posterior, at the rows of `X`.

        Parameters
        ----------
        X
            Rows of inputs, an array or a data frame with the columns of the fit.
        *along
            The input's name or position; two of them for the second derivative.
        count
            The number of functions, which are those of `sample_functions`.

        Returns
        -------
        np.ndarray
            An array as `sample_functions` gives, in units of output per unit of input.

        Raises
        ------
        SettingError
            When `along` is not one input or two of the model's.
        """
        if not 1 <= len(along) <= 2:
            raise SettingError(
                "sample_slopes goes along one input, or two for the second derivative, "
                f'got {len(along)}. Write sample_slopes(X, "x").'
            )
        X = self._checked(X)
        names = self.fitted_.schema.inputs
        columns = tuple(sorted(column_index(name, names, "input") for name in along))
        values = self.fitted_.answering.slopes(X, [columns], count)[columns]
        return values[..., 0] if values.shape[-1] == 1 else values

    def plot(
        self, ax: Any = None, *, along: Any = None, output: Any = None, shown: int = 0
    ) -> Any:
        """Draw the posterior along one input, with the data and the rules.

        Parameters
        ----------
        ax
            Matplotlib axes; by default, a new figure.
        along
            The input's name or position; by default, the first. Other inputs are held
            at their medians.
        output
            The output's name or position; by default, the first.
        shown
            The number of single functions to draw as well.

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
        return plot_functions(self._record(), ax, along, output, shown)

    def sample_prior(self, X: Any, y: Any = None, count: int = 100) -> np.ndarray:
        """Functions drawn from the constrained prior, at the rows of `X`.

        They show what rules imply without data. With `rules_by="projection"`, they are
        draws from the prior without rules, each moved to the nearest function that
        obeys. The estimator need not be fitted, and does not change.

        Parameters
        ----------
        X
            Rows of inputs. They also give the names of the columns, and their units if
            columns are standardised.
        y
            Outputs at these rows, for the names and units of the outputs only. Left
            out, there is one output of order one, called `y` unless `outputs` says
            otherwise.
        count
            How many functions, at most.

        Returns
        -------
        np.ndarray
            An array of (draws, rows) for one output, else (draws, rows, outputs).
        """
        outputs = np.zeros(len(X)) if y is None else y
        # On a copy, because this must not change a fitted model.
        copy = self._copy()
        checked, Y, schema, _ = copy._data(X, outputs, must_vary=False)
        measured = None if y is None else Y
        units = self._units(checked, measured, schema)
        predictive = copy._sample_prior(checked, measured, schema, units, count)
        values = predictive.functions(checked, count)
        return values[..., 0] if values.shape[-1] == 1 else values

    def _data(
        self, X: Any, y: Any, *, must_vary: bool = True
    ) -> tuple[np.ndarray, np.ndarray, Schema, Given]:
        original = y
        X, y = validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True
        )
        y = np.asarray(y, float)
        Y = y[:, None] if y.ndim == 1 else y
        names = target_names(self.outputs, original, Y.shape[1])
        if must_vary:
            refuse_constant(ColumnMoments.of(Y), names)
        schema = make_schema(X, self._input_names(), names, self.choices)
        return X, Y, schema, Given(self._columns(), y.ndim)

    def _units(self, X: Measured, Y: Measured | None, schema: Schema) -> Units | None:
        outputs = len(schema.outputs)
        return make_units(self.standardize, self.scales, schema.inputs, X, Y, outputs)

    def _as_given(self, table: np.ndarray) -> np.ndarray:
        return table[:, 0] if self.fitted_.given.y_ndim == 1 else table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


def _check_level(level: Any) -> None:
    if not isinstance(level, (int, float)) or not 0 < level < 1:
        raise SettingError(
            f"level must lie between 0 and 1, got {level!r}. Write level=0.95."
        )
