"""Answers to requests about a session, composed from its folder."""

import itertools
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool

from ocbnn.errors import OcbnnError, SettingError
from ocbnn.projects.folder import RunFolder
from ocbnn.rules import bind, parse_rule
from ocbnn.studio.document import Document, View, study_text
from ocbnn.studio.downloads import python_code, study_archive, study_file
from ocbnn.studio.drawing import MovedBox, moved_text, rule_text
from ocbnn.studio.examples import EXAMPLES
from ocbnn.studio.jobs import Fits, PreviewProcess, mark_abandoned
from ocbnn.studio.layers import layer_of
from ocbnn.studio.report import report_page
from ocbnn.studio.session_data import (
    ALGORITHMS,
    CheckedDocument,
    checked,
    first_rows,
    profiles_of,
    rows_of,
    shown_rows,
    study_for,
)
from ocbnn.studio.sessions import Session, Store
from ocbnn.studio.viewport import Viewport
from ocbnn.tables import Profile
from ocbnn.tables.source import delimiter_of

_MEDIA = {
    "study.zip": "application/zip",
    "study.toml": "application/toml",
    "code.py": "text/x-python",
    "model.ocbnn": "application/octet-stream",
    "figure.png": "image/png",
    "figure.svg": "image/svg+xml",
    "report.html": "text/html",
}
_STATUS_KEYS = ("state", "stage", "share", "note", "rate", "left", "message")


class Controller:
    """Answers about sessions."""

    def __init__(self, store: Store, fits: Fits, preview: PreviewProcess) -> None:
        self._store, self._fits, self._preview = store, fits, preview

    def tidy_up(self) -> None:
        """Mark fits that an earlier server left running as stopped."""
        for listed in self._store.listed():
            mark_abandoned(self._store.session(listed["id"]))

    def start(self) -> dict[str, Any]:
        """The contents of the start page: examples and sessions."""
        examples = [
            {"name": example.name, "title": example.title, "about": example.about}
            for example in EXAMPLES.values()
        ]
        return {"examples": examples, "sessions": self._store.listed()}

    def new(self, example: str) -> dict[str, Any]:
        """Create a session from an example."""
        document, table = EXAMPLES[example].make()
        title = self._free_title(EXAMPLES[example].title)
        document = document.model_copy(update={"title": title})
        return {"id": self._store.from_document(document, table).id}

    def _free_title(self, title: str) -> str:
        """The title, with a number if a session already has it."""
        taken = {listed["title"] for listed in self._store.listed()}
        names = (f"{title} ({number})" for number in itertools.count(2))
        return next(n for n in itertools.chain([title], names) if n not in taken)

    def state(self, session: Session) -> dict[str, Any]:
        """Everything the page shows except functions."""
        revision, document = session.read()
        checks = checked(session.folder, document)
        profiles = profiles_of(session.folder / document.data.file)
        return {
            "id": session.id,
            "revision": revision,
            "document": checks.document.model_dump(mode="json"),
            "table": {
                "rows": next(iter(profiles.values())).rows,
                "columns": [_column(profile) for profile in profiles.values()],
                "first": first_rows(session.folder / document.data.file),
            },
            "rules": checks.lines,
            "problem": checks.problem or None,
            "choice": checks.choice,
            "classes": None if checks.rows is None else _classes(checks),
            "fit": self.fit_state(session, document),
            "result": session.read_result(),
            "algorithms": ALGORITHMS,
        }

    def fit_state(
        self, session: Session, document: Document | None = None
    ) -> dict[str, Any]:
        """The fit's progress, and whether its result is of the current document."""
        if document is None:
            _, document = session.read()
        status, result = self._fits.state(session), session.read_result()
        return {
            **{key: status.get(key) for key in _STATUS_KEYS},
            "stale": result is not None and _is_stale(result, document),
            "old": result is not None and result.get("run") != status.get("run"),
        }

    def rows(self, session: Session) -> dict[str, Any]:
        """Rows for a plot."""
        return shown_rows(session.folder, session.read()[1].data)

    def drawn(self, session: Session, drawn: Any) -> dict[str, Any]:
        """The text of a drawn rule."""
        checks, viewport = self._viewport(session, drawn.view)
        text = rule_text(drawn, viewport)
        assert checks.rows is not None
        bind(parse_rule(text), checks.rows.schema)
        return {"text": text}

    def moved(
        self, session: Session, text: str, shape: MovedBox, view: View | None
    ) -> dict[str, Any]:
        """The text of a rule whose box was moved."""
        checks, viewport = self._viewport(session, view)
        assert checks.rows is not None
        bound = bind(parse_rule(text), checks.rows.schema)
        return {"text": moved_text(text, bound, shape, viewport)}

    def layers(self, session: Session, view: View | None) -> dict[str, Any]:
        """The rules' layers in a view."""
        checks, viewport = self._viewport(session, view)
        layers = []
        for line in checks.document.active:
            bound = checks.bounds.get(line.id)
            if bound is not None and bound.is_checkable:
                layer = layer_of(bound, viewport)
                layers.append({"id": line.id, "colour": line.colour, **layer})
        return {"layers": layers}

    async def look(
        self, page: str, kind: str, session: Session, view: View | None
    ) -> Any:
        """Functions of the prior, or of the last fit."""
        document = _viewed(session, view)
        details: dict[str, Any] = {"document": document.model_dump(mode="json")}
        if kind != "prior":
            result = session.read_result() or {}
            details["runs"] = [
                which for which in ("with", "without") if result.get(which)
            ]
        return await self._preview.ask(page, kind, session, **details)

    async def fit(self, session: Session, *, quick: bool) -> None:
        """Start a fit.

        Raises
        ------
        SettingError
            When one is already running, or the document cannot be fitted.
        """
        await self._fits.settle(session)
        if self._fits.is_busy(session):
            raise SettingError("a fit of this session is running already.")
        with self._fits.reserved(session):
            _, document = session.read()
            checks = await run_in_threadpool(checked, session.folder, document)
            if checks.problem:
                raise SettingError(checks.problem)
            self._fits.start(session, study_text(document), quick=quick)

    async def file(self, session: Session, name: str) -> tuple[bytes | Path, str]:
        """A file to download.

        Raises
        ------
        KeyError
            When there is no such file.
        SettingError
            When the file needs a fit.
        """
        media = _MEDIA[name]
        _, document = session.read()
        result = session.read_result()
        quick = bool(result and result["quick"] and not _is_stale(result, document))
        if name == "study.toml":
            return study_file(document, quick=quick).encode(), media
        # These read the whole table; the server must stay responsive meanwhile.
        if name == "study.zip":
            pack = lambda: study_archive(session.folder, document, quick=quick)
            return await run_in_threadpool(pack), media
        if name == "code.py":
            return await run_in_threadpool(_code, session, document, quick), media
        model = RunFolder(session.run("with")).model
        if result is None or not result.get("with") or not model.is_file():
            raise SettingError(f"{name} needs a fit. Fit first.")
        if name == "model.ocbnn":
            return model, media
        fitted = _fitted(result, document)
        picture = session.folder / "figure"
        await self._preview.ask(
            "file",
            "figure",
            session,
            document=fitted.model_dump(mode="json"),
            runs=[which for which in ("with", "without") if result.get(which)],
            path=str(picture),
        )
        if name != "report.html":
            return session.folder / name, media
        png = picture.with_suffix(".png").read_bytes()
        page = report_page(fitted, result, png, stale=_is_stale(result, document))
        return page.encode(), media

    def _viewport(
        self, session: Session, view: View | None
    ) -> tuple[CheckedDocument, Viewport]:
        checks = checked(session.folder, _viewed(session, view))
        viewport = checks.window
        if viewport is None:
            raise OcbnnError(checks.problem)
        return checks, viewport


def _code(session: Session, document: Document, quick: bool) -> bytes:
    study = study_for(session.folder, document)
    rows = rows_of(session.folder, document.data)
    delimiter = delimiter_of(study.table)
    return python_code(document, study, rows, delimiter, quick=quick).encode()


def _viewed(session: Session, view: View | None) -> Document:
    _, document = session.read()
    return document if view is None else document.model_copy(update={"view": view})


def _is_stale(result: dict[str, Any], document: Document) -> bool:
    """Whether the document has changed since the last fit."""
    text_of = lambda d: study_text(d.model_copy(update={"title": ""}))
    return text_of(_fitted(result, document)) != text_of(document)


def _fitted(result: dict[str, Any], document: Document) -> Document:
    """The document as it was fitted, with the current view."""
    fitted = Document.model_validate(result.get("document") or document.model_dump())
    has_same_rows = fitted.data == document.data
    return (
        fitted.model_copy(update={"view": document.view}) if has_same_rows else fitted
    )


def _classes(checks: CheckedDocument) -> list[Any] | None:
    classes = checks.rows.schema.classes if checks.rows is not None else None
    return None if classes is None else list(classes)


def _column(profile: Profile) -> dict[str, Any]:
    is_number = profile.kind == "number"
    return {
        "name": profile.name,
        "kind": profile.kind,
        "missing": profile.missing,
        "distinct": profile.distinct,
        "low": profile.low if is_number else None,
        "high": profile.high if is_number else None,
        "middle": profile.middle[1] if is_number else None,
        "levels": list(profile.levels[:20]),
    }
