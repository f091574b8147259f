"""The folder of a fit: its settings, checkpoint, model and report."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

from ocbnn.errors import SettingError
from ocbnn.storage import replace_file

_MODEL, _RUN = "model.ocbnn", "run.json"


@dataclasses.dataclass(frozen=True)
class Run:
    """The settings of a fit: the same settings give the same bits.

    Attributes
    ----------
    study
        The study file.
    folder
        The folder that its paths are relative to.
    text
        A digest of its text.
    data
        A digest of the table.
    seed
        The seed.
    quick
        Whether it is a quick look.
    """

    study: str
    folder: str
    text: str
    data: str
    seed: int
    quick: bool


@dataclasses.dataclass(frozen=True)
class RunFolder:
    """A folder that `ocbnn fit` writes."""

    path: Path

    @property
    def model(self) -> Path:
        """The fitted model."""
        return self.path / _MODEL

    @property
    def study(self) -> Path:
        """A copy of the study file."""
        return self.path / "study.toml"

    @property
    def checkpoint(self) -> Path:
        """The saved state of the run."""
        return self.path / "checkpoint"

    @property
    def rows(self) -> Path:
        """The rows of a table that is read in batches."""
        return self.path / "rows"

    @property
    def report_text(self) -> Path:
        """The report for people."""
        return self.path / "report.txt"

    @property
    def report_json(self) -> Path:
        """The report for programs."""
        return self.path / "report.json"

    @property
    def is_one(self) -> bool:
        """Whether `ocbnn fit` made this folder."""
        return (self.path / _RUN).exists()

    @property
    def is_begun(self) -> bool:
        """Whether it contains something that took time to compute."""
        drawn = self.checkpoint.is_dir() and any(self.checkpoint.iterdir())
        return self.model.exists() or drawn

    def run(self) -> Run:
        """The settings of the fit.

        Raises
        ------
        SettingError
            When this is not the folder of a fit.
        """
        try:
            settings = json.loads((self.path / _RUN).read_text(encoding="utf-8"))
            return Run(**settings)
        except (FileNotFoundError, NotADirectoryError):
            raise SettingError(
                f"{self.path}: this is not the folder of a fit, it has no {_RUN}. "
                "`ocbnn fit STUDY.toml --out DIR` makes one."
            ) from None
        except (ValueError, TypeError):
            raise SettingError(
                f"{self.path / _RUN}: this file is damaged. Fit again, into another "
                "folder."
            ) from None

    def holds(self, run: Run) -> bool:
        """Whether this very fit was started here."""
        return self.is_one and self.run() == run

    def claim(self, run: Run, text: str, *, force: bool) -> None:
        """Claim the folder for a run, unless it belongs to another one.

        Raises
        ------
        SettingError
            When it holds another fit.
        """
        if self.path.exists() and not self.path.is_dir():
            raise SettingError(f"{self.path}: this is a file. Name a folder as --out.")
        if self.path.is_dir() and any(self.path.iterdir()):
            old = self.run()
            if old != run:
                self._replace(old, run, force=force or not self.is_begun)
        self.path.mkdir(parents=True, exist_ok=True)
        replace_file(self.study, text.encode())
        replace_file(self.path / _RUN, as_json(dataclasses.asdict(run)).encode())

    def _replace(self, old: Run, new: Run, *, force: bool) -> None:
        names = {
            "study": "the place of the study file",
            "folder": "the place of the study file",
            "text": "the study file",
            "data": "the table",
            "seed": "the seed",
            "quick": "--quick",
        }
        fields = dataclasses.fields(Run)
        differences = dict.fromkeys(
            names[f.name]
            for f in fields
            if getattr(old, f.name) != getattr(new, f.name)
        )
        if not force:
            raise SettingError(
                f"{self.path}: this folder holds another fit, which differs in "
                f"{' and '.join(differences)}. Name another folder as --out, or write "
                "--force to replace it."
            )
        for path in (self.checkpoint, self.rows):
            shutil.rmtree(path, ignore_errors=True)
        for path in (self.model, self.report_text, self.report_json):
            path.unlink(missing_ok=True)


def as_json(content: Any) -> str:
    """A document as indented JSON."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
