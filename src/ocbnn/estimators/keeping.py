"""Fitted models that can be kept, and what they cannot do once their data are gone."""

import warnings
from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ocbnn.core.errors import DataError, StorageWarning
from ocbnn.estimators.names import row_names
from ocbnn.estimators.saving import save_model
from ocbnn.posterior import Target
from ocbnn.rules import BoundRule


class Keepable:
    """A fitted model that can be saved, with its data or without."""

    target_: Target
    _X: Any  # None when the model was saved without its data
    _Y: Any
    # Rows that the fit read from a file, of which `_X` and `_Y` are some.
    _stored_rows: int | None = None
    _row_names: Any = None
    # What a table calls the rows of the fit that comes next.
    _table_rows: Any = None

    def save(
        self, path: Any, *, data: bool = True, leave_out: Sequence[str] = ()
    ) -> None:
        """Write the fitted model to a file that `ocbnn.load` reads back.

        Args:
            path: A file when the name ends in `.ocbnn`, else a folder. A model that is
                there is replaced.
            data: Keep the training data too; of rows that were read from a file, the
                10,000 that reports look at. Without them the model predicts as
                before, but cannot draw itself, report, check rules against the data,
                or say what the data add to the log density.
            leave_out: Settings that no file can hold, such as a network of your own.
                Hand them over again: `ocbnn.load(path, network=...)`.

        Raises:
            StorageError: When something of the model cannot be written.
        """
        check_is_fitted(self, "draws_")
        save_model(self, path, data=data, leave_out=leave_out)

    def _name_rows(self, X: Any) -> None:
        """Remember what the rows of a fit are called."""
        found = row_names(X) if self._table_rows is None else self._table_rows
        self._row_names, self._table_rows = found, None

    def _need_data(self, what: str) -> None:
        if self._X is None:
            raise DataError(
                f"{what} needs the data that this model was fitted to, and it was "
                "saved without them. Load one that was saved with data=True, or fit "
                "it again."
            )

    def _need_all_rows(self, what: str) -> None:
        self._need_data(what)
        if self._stored_rows is not None:
            raise DataError(
                f"{what} needs the likelihood of every row, and this model was fitted "
                f"to {self._stored_rows:,} rows in a file. Fit to a part of them that "
                f"is in memory, np.array(X[:100_000]), and ask that model."
            )

    def _placed(self, rules: Sequence[BoundRule]) -> list[BoundRule]:
        """Those rules whose points are known, with a warning about the others."""
        placed = [term.bound for term in self.target_.rules]
        missing = [bound.name for bound in rules if bound not in placed]
        if missing:
            warnings.warn(
                f"rule {missing[0]!r} cannot be checked: its points are made from data "
                "rows, and this model was saved without its data.",
                StorageWarning,
                stacklevel=3,
            )
        return [bound for bound in rules if bound in placed]
