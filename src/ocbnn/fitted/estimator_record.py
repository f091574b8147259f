"""The record of a fitted estimator, for functions that take either of them."""

from typing import Protocol, TypeAlias, TypeGuard

from sklearn.utils.validation import check_is_fitted

from ocbnn.core.types import Unchecked
from ocbnn.core.words import shorten
from ocbnn.errors import SettingError
from ocbnn.fitted.record import FittedModel


class HasRecord(Protocol):
    """A fitted estimator."""

    @property
    def fitted_(self) -> FittedModel:
        """The result of its fit."""
        ...


ModelOrRecord: TypeAlias = Unchecked[FittedModel | HasRecord]


def is_model(value: object) -> TypeGuard[FittedModel | HasRecord]:
    """Whether it is an estimator, fitted or not, or the record of a fit."""
    return isinstance(value, FittedModel) or hasattr(value, "check_rules")


def fitted_of(model: ModelOrRecord) -> FittedModel:
    """The record of a fitted estimator, or the record itself.

    Raises
    ------
    SettingError
        When it is neither.
    NotFittedError
        When it is an estimator that is not fitted yet.
    """
    if isinstance(model, FittedModel):
        return model
    if not hasattr(model, "check_rules"):
        shown = shorten(repr(model), 60)
        raise SettingError(
            f"model must be a fitted model, got {type(model).__name__}: {shown}. Read "
            'one from its file first: ocbnn.load("model.ocbnn").'
        )
    check_is_fitted(model)
    return model.fitted_
