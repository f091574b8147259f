"""The report of a fit, as one web page in the studio's words."""

import base64
import html
from typing import Any

from ocbnn.core.words import share
from ocbnn.projects.reports import web_page
from ocbnn.studio.document import Document, study_text

_VERDICTS = {
    "good": "The draws can be trusted",
    "fair": "The draws are usable, with care",
    "poor": "The draws cannot be trusted yet",
    "unknown": "Nothing is known about the draws",
}
_SCORES = {
    "rmse": "typical error (RMSE)",
    "r2": "share of the variation explained (R²)",
    "coverage_90": "share of rows inside their 90 % interval",
    "accuracy": "share of rows classified correctly",
    "log_loss": "log loss",
    "most_frequent": "share of the most frequent class",
}
QUICK = "A quick look: too short to judge by. Press Fit for an answer."
_STALE = (
    "Rules, data or settings were changed after this fit. This page describes the fit "
    "and the study as it was then; see the end of the page."
)


def report_page(
    document: Document, result: dict[str, Any], picture: bytes, *, stale: bool
) -> str:
    """The report as one self-contained web page.

    Parameters
    ----------
    document
        The document as it was fitted.
    result
        The fit's result.
    picture
        The figure, as PNG.
    stale
        Whether the document has changed since.
    """
    image = base64.b64encode(picture).decode()
    fit, bare = result["with"], result.get("without")
    parts = [
        _paragraph(QUICK) if result.get("quick") else "",
        _paragraph(_STALE) if stale else "",
        _paragraph(result.get("rows", "")),
        f'<p><img alt="The functions, with rules and without" '
        f'src="data:image/png;base64,{image}"></p>',
        _verdict(fit, "With rules" if fit["rules"] else ""),
        _rules(fit, bare, result.get("certificates") or []),
        _scores(fit, bare),
        _block(
            "Do rules conflict with the data, or with each other?",
            result.get("conflicts", ""),
        ),
        _verdict(bare, "Without rules") if bare else "",
        _block("Full report", result.get("report", "")),
        _block("The study", study_text(document)),
    ]
    return web_page(document.title, "\n".join(part for part in parts if part))


def rows_in_words(rows: dict[str, Any]) -> str:
    """Which rows were fitted, and which were scored.

    >>> rows_in_words({"fitted": 3347, "dropped": 0, "held_out": 0, "scored": 2000})
    'Fitted to 3,347 rows. Scores are of 2,000 of them, chosen at random.'
    """
    sentence = f"Fitted to {rows['fitted']:,} rows"
    if rows["dropped"]:
        sentence += f"; {rows['dropped']:,} with gaps are left out"
    if rows["held_out"]:
        return f"{sentence}. Scores are of {rows['held_out']:,} held-out rows."
    if rows["scored"] < rows["fitted"]:
        return (
            f"{sentence}. Scores are of {rows['scored']:,} of them, chosen at random."
        )
    return f"{sentence}. Scores are of the same rows."


def _verdict(fit: dict[str, Any], which: str) -> str:
    items = "".join(f"<li>{html.escape(s)}</li>" for s in fit["verdict"]["sentences"])
    status = fit["verdict"]["status"]
    label = _VERDICTS.get(status) or str(status)
    title = f"{which}: {label}" if which else label
    return f"<h2>{html.escape(title)}</h2><ul>{items}</ul>"


def _rules(
    fit: dict[str, Any],
    without_rules: dict[str, Any] | None,
    proved: list[dict[str, Any]],
) -> str:
    proofs = {rule["rule"]: rule["sentence"] for rule in proved}
    bare = (without_rules or {}).get("rules", [])
    violations = {rule["rule"]: rule["violation"] for rule in bare}
    rows = [
        (
            rule.get("text") or rule["rule"],
            _share(rule["violation"]),
            _share(violations.get(rule["rule"])),
            proofs.get(rule["rule"], ""),
        )
        for rule in fit["rules"]
    ]
    head = ("rule", "violated with rules", "violated without", "proved")
    title = "<h2>Share of each rule's region in which it is violated</h2>"
    return f"{title}{_table(head, rows)}" if rows else ""


def _scores(fit: dict[str, Any], without_rules: dict[str, Any] | None) -> str:
    other_scores = (without_rules or {}).get("scores", {})
    rows = [
        (_score_name(name), f"{value:.4g}", _number(other_scores.get(name)))
        for name, value in fit["scores"].items()
    ]
    return f"<h2>Scores</h2>{_table(('', 'with rules', 'without'), rows)}"


def _score_name(key: str) -> str:
    """A score's label; with several outputs, its key begins with the output's name."""
    output, _, name = key.rpartition(" ")
    label = _SCORES.get(name, name.replace("_", " "))
    return f"{output}: {label}" if output else label


def _share(value: float | None) -> str:
    return "" if value is None else share(value)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    line = lambda cells, tag: "".join(
        f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells
    )
    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return f"<table><tr>{line(head, 'th')}</tr>{body}</table>"


def _paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>" if text else ""


def _block(title: str, text: str) -> str:
    return f"<h2>{title}</h2><pre>{html.escape(text)}</pre>" if text else ""
