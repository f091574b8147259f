"""Sessions on disk: one folder each, with everything needed to continue.

Every change is written at once and atomically, so nothing is lost when the server
ends. A session's folder is a study: `ocbnn fit study.toml` works in it.
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
_MOST_NAME = 150  # bytes; file systems allow 255, and temporary files have longer names
_PAGE, _FIT = "session.json", "fit.json"
# What reading a file that was edited by hand may raise.
_DAMAGE = (OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError)


class StaleError(OcbnnError, ValueError):
    """Another page has changed the session in the meantime."""


@dataclasses.dataclass(frozen=True)
class Session:
    """One session's folder."""

    id: str
    folder: Path
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    @property
    def study(self) -> Path:
        """The study file, always in step with the document."""
        return self.folder / "study.toml"

    def run(self, which: str) -> Path:
        """The folder of the last fit, `with` or `without` rules."""
        return self.folder / which

    def coming(self, which: str) -> Path:
        """The folder of a new fit that has not yet replaced the last one."""
        return self.folder / "coming" / which

    def has_come(self, which: str) -> None:
        """Replace the last fit by the new one, if there is one."""
        new, current = self.coming(which), self.run(which)
        if new.is_dir():
            old = self.folder / "coming" / f"old-{which}"
            shutil.rmtree(old, ignore_errors=True)
            if current.exists():
                current.rename(old)
            new.rename(current)
            shutil.rmtree(old, ignore_errors=True)

    def mend(self) -> None:
        """Restore the last fit if a process was killed while replacing it."""
        for which in ("with", "without"):
            current, old = self.run(which), self.folder / "coming" / f"old-{which}"
            if old.is_dir() and not current.exists():
                old.rename(current)

    @property
    def result(self) -> Path:
        """The file with the last fit's result."""
        return self.folder / "result.json"

    def read(self) -> tuple[int, Document]:
        """The revision number and the document.

        Raises
        ------
        DataError
            When the file is damaged.
        """
        try:
            page = json.loads((self.folder / _PAGE).read_text(encoding="utf-8"))
            _json(page)  # Refuse NaN, which is not JSON and cannot be sent to a page.
            return int(page["revision"]), Document.model_validate(page["document"])
        except _DAMAGE:
            raise DataError(
                f"{self.folder / _PAGE}: this file is damaged. Its study.toml and "
                "table may be intact: `ocbnn studio study.toml` opens them again."
            ) from None

    def write(self, document: Document, revision: int | None = None) -> int:
        """Save a document; `revision` is the one that it was edited from.

        Raises
        ------
        StaleError
            When there is a newer one.
        """
        with self.lock:
            revision_on_disk = 0
            if (self.folder / _PAGE).exists():
                revision_on_disk, old = self.read()
                file = old.data.file
                # A page chooses columns, never files.
                data = document.data.model_copy(update={"file": file})
                document = document.model_copy(update={"data": data})
                if revision is not None and revision != revision_on_disk:
                    raise StaleError(
                        "this session was changed in another tab. The page now shows "
                        "the newer version; make your last change again."
                    )
            page = {
                "revision": revision_on_disk + 1,
                "changed": datetime.datetime.now(datetime.UTC).isoformat(),
                "document": document.model_dump(mode="json"),
            }
            replace_file(self.study, study_text(document).encode())
            replace_file(self.folder / _PAGE, _json(page))
            return revision_on_disk + 1

    def fit_state(self) -> dict[str, Any]:
        """The status of the last fit."""
        return _read_json(self.folder / _FIT) or {"state": "none"}

    def keep_fit_state(self, state: dict[str, Any]) -> None:
        """Save the status of the fit."""
        replace_file(self.folder / _FIT, _json(state))

    def read_result(self) -> dict[str, Any] | None:
        """The result of the last fit."""
        return _read_json(self.result)


class Store:
    """All sessions in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        make_folder(folder)
        for path in folder.iterdir():
            if _ID.fullmatch(path.name):
                close_to_others(path)
        self._known: dict[str, Session] = {}
        self._lock = threading.Lock()

    def session(self, name: str) -> Session:
        """The session with this name.

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
        """The start page's entry for a session; None if its file cannot be read."""
        page = _read_json(self.folder / name / _PAGE) or {}
        fit = _read_json(self.folder / name / _FIT) or {}
        document = page.get("document")
        line = {
            "id": name,
            "title": document.get("title") if isinstance(document, dict) else None,
            "changed": page.get("changed"),
            "fit": fit.get("state", "none"),
        }
        return line if all(map(_is_text, line.values())) else None

    def from_table(self, name: str, content: bytes | Path) -> Session:
        """Create a session from a table; at first, its last column is the output.

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
            _check_readable(content, content.parent)
        with self._new_folder() as session:
            path = session.folder / _safe_name(name)
            if isinstance(content, Path):
                shutil.copyfile(content, path)
            else:
                replace_file(path, content)
            try:
                data = _first_choice(path, session.study)
            except OcbnnError as error:
                raise type(error)(message(error, session.folder)) from None
            session.write(Document(title=_title_from(name), data=data))
            return session

    def from_study(self, path: Path) -> Session:
        """Create a session from a study file and its table.

        Raises
        ------
        OcbnnError
            When one of them cannot be read.
        """
        study = read_study(path)
        _check_readable(study.table, study.source.folder)
        with self._new_folder() as session:
            table = session.folder / _safe_name(study.table.name)
            shutil.copyfile(study.table, table)
            try:
                document = _document(study, table)
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                key = ".".join(map(str, first["loc"]))
                raise SettingError(
                    f"{path}: the studio cannot show this study, because of its {key}: "
                    f"{first['msg']}. `ocbnn fit` may still accept it."
                ) from None
            session.write(document)
            return session

    def from_document(self, document: Document, table: bytes) -> Session:
        """Create a session from a document and the content of its table."""
        with self._new_folder() as session:
            replace_file(session.folder / document.data.file, table)
            session.write(document)
            return session

    def remove(self, session: Session) -> None:
        """Delete a session and all that belongs to it."""
        with self._lock:
            self._known.pop(session.id, None)
        shutil.rmtree(session.folder)

    def _new_folder(self) -> "_NewFolder":
        name = secrets.token_hex(6)
        return _NewFolder(Session(name, self.folder / name))


def _check_readable(table: Path, home: Path) -> None:
    # Checked before it is copied: errors quote only tables in their own folder.
    with open_table(table, home=home):
        pass


class _NewFolder:
    """A new session's folder, deleted again if it cannot be filled."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> Session:
        make_folder(self._session.folder)
        return self._session

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            shutil.rmtree(self._session.folder, ignore_errors=True)


def _first_choice(table: Path, study: Path) -> DataChoice:
    """A first choice of columns; a person chooses if none can be proposed.

    Raises
    ------
    OcbnnError
        When the table cannot be read, or has a single column.
    """
    try:
        proposal = propose(table, study)
    except OcbnnError:
        profiles = profiles_of(table)
        if len(profiles) < 2:
            raise
        output = list(profiles)[-1]
        task = "classification" if profiles[output].kind == "text" else "regression"
        return DataChoice(file=table.name, inputs=[], output=[output], task=task)
    return DataChoice(
        file=table.name,
        inputs=proposal.inputs,
        output=[proposal.output],
        task=proposal.task,  # pyright: ignore
        categories=proposal.categories,
        missing="drop" if proposal.has_gaps else "refuse",
    )


def _document(study: Study, table: Path) -> Document:
    sections = study.sections
    data = sections.data
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
        network=sections.network.model_dump(exclude_unset=True),
        inference=sections.inference.model_dump(exclude_unset=True)
        or {"algorithm": sections.inference.algorithm},
        fit=sections.fit.model_dump(exclude_unset=True),
    )


def _title_from(name: str) -> str:
    """A study's first title: the name of its table."""
    plain = "".join(
        character for character in Path(name).stem if character.isprintable()
    )
    return plain[:200] or "table"


def _safe_name(name: str) -> str:
    """A file's name without path parts or special characters, and not too long."""
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
    """Whether this is valid text: JSON can encode half a character."""
    return isinstance(value, str) and value == value.encode(errors="replace").decode()
