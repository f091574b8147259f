"""Sessions on disk: a folder for each, with all that is needed to go on.

Everything is written whole or not at all, at once, so that nothing is lost when the
server ends. A session's folder is a study: `ocbnn fit study.toml` works in it.
"""

import dataclasses
import datetime
import json
import re
import secrets
import shutil
import threading
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ocbnn.errors import DataError, OcbnnError, SettingError
from ocbnn.projects.scaffold import propose
from ocbnn.projects.study import Study, read_study
from ocbnn.storage import replace_file
from ocbnn.studio.document import (
    RULE_COLOURS,
    DataChoice,
    Document,
    RuleLine,
    study_text,
    title_in,
)
from ocbnn.studio.page_advice import message
from ocbnn.studio.private_files import close_to_others, make_folder
from ocbnn.studio.session_data import profiles_of
from ocbnn.tables import open_table

_ID = re.compile(r"[0-9a-f]{12}")
_NAME = re.compile(r"[^\w.\- ]+")
_SUFFIXES = (".csv", ".parquet")
_MOST_NAME = 150  # bytes; file systems take 255, and replacements have longer names
_PAGE, _FIT = "session.json", "fit.json"
# What reading a file that was changed from outside may end with.
_DAMAGE = (OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError)


class StaleError(OcbnnError, ValueError):
    """Another page has changed the session meanwhile."""


@dataclasses.dataclass(frozen=True)
class Session:
    """One session's folder."""

    id: str
    folder: Path
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    @property
    def study(self) -> Path:
        """The study file, always as the document says."""
        return self.folder / "study.toml"

    def run(self, which: str) -> Path:
        """The folder of the last fit with rules, or of that without."""
        return self.folder / which

    def coming(self, which: str) -> Path:
        """The folder of a fit that has not replaced the last one yet."""
        return self.folder / "coming" / which

    def has_come(self, which: str) -> None:
        """Replace the last fit, if this one was made beside it."""
        coming, here = self.coming(which), self.run(which)
        if coming.is_dir():
            old = self.folder / "coming" / f"old-{which}"
            shutil.rmtree(old, ignore_errors=True)
            if here.exists():
                here.rename(old)
            coming.rename(here)
            shutil.rmtree(old, ignore_errors=True)

    def mend(self) -> None:
        """Put the last fit back, if a process was ended while it replaced that."""
        for which in ("with", "without"):
            here, old = self.run(which), self.folder / "coming" / f"old-{which}"
            if old.is_dir() and not here.exists():
                old.rename(here)

    @property
    def result(self) -> Path:
        """What was found by the last fit."""
        return self.folder / "result.json"

    def read(self) -> tuple[int, Document]:
        """The document, and how often it was changed.

        Raises
        ------
        DataError
            When the file was damaged from outside.
        """
        try:
            page = json.loads((self.folder / _PAGE).read_text(encoding="utf-8"))
            _json(page)  # What is no JSON in truth, such as NaN, no page can be told.
            return int(page["revision"]), Document.model_validate(page["document"])
        except _DAMAGE:
            raise DataError(
                f"{self.folder / _PAGE}: this file is damaged. Its study.toml and its "
                "table may still be whole: `ocbnn studio study.toml` opens them anew."
            ) from None

    def write(self, document: Document, revision: int | None = None) -> int:
        """Keep a document; `revision` is the one that it was made from.

        Raises
        ------
        StaleError
            When there is a later one.
        """
        with self.lock:
            now = 0
            if (self.folder / _PAGE).exists():
                now, old = self.read()
                file = old.data.file
                # A page chooses columns, never files.
                same = document.data.model_copy(update={"file": file})
                document = document.model_copy(update={"data": same})
                if revision is not None and revision != now:
                    raise StaleError(
                        "this session was changed in another tab. What is shown now is "
                        "the newer one; make your last change again."
                    )
            page = {
                "revision": now + 1,
                "changed": datetime.datetime.now(datetime.UTC).isoformat(),
                "document": document.model_dump(mode="json"),
            }
            replace_file(self.study, study_text(document).encode())
            replace_file(self.folder / _PAGE, _json(page))
            return now + 1

    def fit_state(self) -> dict[str, Any]:
        """How the last fit went."""
        return _read_json(self.folder / _FIT) or {"state": "none"}

    def keep_fit_state(self, state: dict[str, Any]) -> None:
        """Remember how the fit goes."""
        replace_file(self.folder / _FIT, _json(state))

    def read_result(self) -> dict[str, Any] | None:
        """What the last fit found."""
        return _read_json(self.result)


class Store:
    """All sessions of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        make_folder(folder)
        for path in folder.iterdir():
            if _ID.fullmatch(path.name):
                close_to_others(path)
        self._known: dict[str, Session] = {}
        self._lock = threading.Lock()

    def session(self, name: str) -> Session:
        """A session by its name in addresses.

        Raises
        ------
        KeyError
            When there is none.
        """
        if not _ID.fullmatch(name) or not (self.folder / name / _PAGE).is_file():
            raise KeyError(name)
        with self._lock:
            return self._known.setdefault(name, Session(name, self.folder / name))

    def listed(self) -> list[dict[str, Any]]:
        """Sessions, the last changed first; without those whose file is damaged."""
        names = [path.name for path in self.folder.iterdir()]
        lines = [self._line(name) for name in names if _ID.fullmatch(name)]
        sessions = [line for line in lines if line is not None]
        return sorted(sessions, key=lambda session: session["changed"], reverse=True)

    def _line(self, name: str) -> dict[str, Any] | None:
        """What the start page says of a session, if that can be read."""
        said = _read_json(self.folder / name / _PAGE) or {}
        fit = _read_json(self.folder / name / _FIT) or {}
        document = said.get("document")
        line = {
            "id": name,
            "title": document.get("title") if isinstance(document, dict) else None,
            "changed": said.get("changed"),
            "fit": fit.get("state", "none"),
        }
        return line if all(map(_is_text, line.values())) else None

    def from_table(self, name: str, content: bytes | Path) -> Session:
        """A session about a table; its last column is to be predicted at first.

        Raises
        ------
        OcbnnError
            When it cannot be read.
        """
        suffix = Path(name).suffix.lower()
        if suffix not in _SUFFIXES:
            raise DataError(
                f"{name}: a table is a .csv or a .parquet file. Save it as one of them."
            )
        if isinstance(content, Path):
            _look(content, content.parent)
        with self._made() as session:
            path = session.folder / _tame(name)
            if isinstance(content, Path):
                shutil.copyfile(content, path)
            else:
                replace_file(path, content)
            try:
                data = _first_choice(path, session.study)
            except OcbnnError as error:
                raise type(error)(message(error, session.folder)) from None
            session.write(Document(title=_titled(name), data=data))
            return session

    def from_study(self, path: Path) -> Session:
        """A session about a study file and its table.

        Raises
        ------
        OcbnnError
            When one of them cannot be read.
        """
        study = read_study(path)
        _look(study.table, study.source.folder)
        with self._made() as session:
            table = session.folder / _tame(study.table.name)
            shutil.copyfile(study.table, table)
            try:
                document = _document(study, table)
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                key = ".".join(map(str, first["loc"]))
                raise SettingError(
                    f"{path}: the studio cannot show this study, because of its {key}: "
                    f"{first['msg']}. `ocbnn fit` may take it all the same."
                ) from None
            session.write(document)
            return session

    def from_document(self, document: Document, table: bytes) -> Session:
        """A session about what is known already."""
        with self._made() as session:
            replace_file(session.folder / document.data.file, table)
            session.write(document)
            return session

    def remove(self, session: Session) -> None:
        """Delete a session and all that belongs to it."""
        with self._lock:
            self._known.pop(session.id, None)
        shutil.rmtree(session.folder)

    def _made(self) -> "_NewFolder":
        name = secrets.token_hex(6)
        return _NewFolder(Session(name, self.folder / name))


def _look(table: Path, home: Path) -> None:
    # Where it is: once copied, all of it would be the user's own, and be quoted.
    with open_table(table, home=home):
        pass


class _NewFolder:
    """A new session's folder, gone again when it cannot be filled."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> Session:
        make_folder(self._session.folder)
        return self._session

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            shutil.rmtree(self._session.folder, ignore_errors=True)


def _first_choice(table: Path, study: Path) -> DataChoice:
    """What could be learned from a table; where nothing can, a person chooses.

    Raises
    ------
    OcbnnError
        When it cannot be read, or there is nothing to choose from.
    """
    try:
        start = propose(table, study)
    except OcbnnError:
        profiles = profiles_of(table)
        if len(profiles) < 2:
            raise
        output = list(profiles)[-1]
        task = "classification" if profiles[output].kind == "text" else "regression"
        return DataChoice(file=table.name, inputs=[], output=[output], task=task)
    return DataChoice(
        file=table.name,
        inputs=start.inputs,
        output=[start.output],
        task=start.task,  # pyright: ignore
        categories=start.categories,
        missing="drop" if start.has_gaps else "refuse",
    )


def _document(study: Study, table: Path) -> Document:
    said = study.sections
    data = said.data
    inputs = data.inputs
    if inputs is None:
        inputs = [name for name in profiles_of(table) if name not in data.output]
    colours = RULE_COLOURS[data.task]
    return Document(
        title=(title_in(study.source.text) or study.source.path.stem)[:200],
        data=DataChoice(
            file=table.name,
            inputs=inputs,
            output=data.output,
            task=data.task,
            categories=data.categories,
            missing=data.missing,
        ),
        rules=[
            RuleLine(id=f"r{i + 1}", text=str(rule), colour=colours[i % len(colours)])
            for i, rule in enumerate(study.rules)
        ],
        network=said.network.model_dump(exclude_unset=True),
        inference=said.inference.model_dump(exclude_unset=True)
        or {"algorithm": said.inference.algorithm},
        fit=said.fit.model_dump(exclude_unset=True),
    )


def _titled(name: str) -> str:
    """A study's first title: what its table is called."""
    plain = "".join(one for one in Path(name).stem if one.isprintable())
    return plain[:200] or "table"


def _tame(name: str) -> str:
    """A file's name without anything that leads elsewhere, and of a usual length."""
    plain = Path(_NAME.sub("_", Path(name).name))
    stem = plain.stem.strip(". ").encode()[:_MOST_NAME].decode(errors="ignore")
    return f"{stem or 'table'}{plain.suffix.lower()}"


def _json(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except _DAMAGE:
        return None
    return document if isinstance(document, dict) else None


def _is_text(value: Any) -> bool:
    """Whether this is text that can be sent: JSON can write half a character."""
    return isinstance(value, str) and value == value.encode(errors="replace").decode()
