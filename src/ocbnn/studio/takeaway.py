"""What a person takes away: the study, code that does the same, and a report."""

import base64
import html
import io
import textwrap
import zipfile
from pathlib import Path
from typing import Any

from ocbnn.inference import PLANS
from ocbnn.projects.reporting import web_page
from ocbnn.projects.study import Study
from ocbnn.studio.document import Document, study_text


def study_archive(folder: Path, document: Document) -> bytes:
    """The study file and its table, ready for the command line."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("study.toml", study_text(document))
        archive.write(folder / document.data.file, document.data.file)
    return content.getvalue()


def report_page(document: Document, result: dict[str, Any], picture: bytes) -> str:
    """A web page with everything in it."""
    image = base64.b64encode(picture).decode()
    one, other = result["with"], result.get("without")
    parts = [
        f'<p><img alt="The functions, with rules and without" '
        f'src="data:image/png;base64,{image}"></p>',
        _verdict(one),
        _rules(one, other, result.get("certificates") or []),
        _scores(one, other),
        _block("Rules and data", result.get("conflicts", "")),
        _block("All of the report", result.get("report", "")),
        _block("The study", study_text(document)),
    ]
    return web_page(document.title, "\n".join(parts))


def python_code(document: Document, study: Study) -> str:
    """A script that fits the same model."""
    data, said = document.data, study.said
    kind = "OCBNNClassifier" if study.is_classification else "OCBNNRegressor"
    read = "read_parquet" if data.file.endswith(".parquet") else "read_csv"
    settings = [
        f"rules={_rule_list(document)}",
        f"outputs={list(data.output)!r}",
        f"hidden={tuple(said.network.hidden)!r}",
        f"activation={said.network.activation!r}",
        f"weight_prior={said.network.weight_prior!r}",
        f"weight_scale={said.network.weight_scale!r}",
        f"standardize={said.network.standardize!r}",
        f"inference={_inference(document, study)}",
        f"random_state={said.fit.seed!r}",
    ]
    if said.network.scales is not None:
        settings.append(f"scales={said.network.scales!r}")
    if said.inference.batch_size is not None:
        settings.append(f"batch_size={said.inference.batch_size!r}")
    if not study.is_classification:
        settings.append(f"noise={said.fit.noise!r}")
        if said.fit.truncate:
            settings.append("truncate=True")
    refine = said.inference.refine
    inputs, output = list(data.inputs), list(data.output)
    asked = output if len(output) > 1 else output[0]
    lines = [
        f'"""{document.title}: the same fit in Python."""',
        "",
        "import pandas as pd",
        "",
        "import ocbnn",
        "",
        f"table = pd.{read}({data.file!r})",
        *([f"table = table.dropna(subset={inputs + output!r})"] * _drops(document)),
        f"X = table[{inputs!r}]",
        *_categories(document),
        f"y = table[{asked!r}]",
        "",
        f"model = ocbnn.{kind}(",
        *textwrap.indent(",\n".join([*settings, ""]), "    ").splitlines(),
        ")",
        f"model.fit(X, y{'' if refine is None else f', refine={refine!r}'})",
        "print(model.report())",
        "print(model.check_rules())" if document.active else "",
    ]
    if said.fit.holdout:
        lines.insert(
            1, f"# The study also holds out {said.fit.holdout:.0%} of the rows."
        )
    return "\n".join(lines).rstrip() + "\n"


def _drops(document: Document) -> bool:
    return document.data.missing == "drop"


def _categories(document: Document) -> list[str]:
    names = list(document.data.categories)
    if not names:
        return []
    return [f"X = pd.get_dummies(X, columns={names!r}, prefix_sep='=', dtype=float)"]


def _rule_list(document: Document) -> str:
    texts = [f"    {rule.text!r}," for rule in document.active]
    return "[\n" + "\n".join(texts) + "\n]" if texts else "[]"


def _inference(document: Document, study: Study) -> str:
    if isinstance(study.inference, str):
        return repr(study.inference)
    asked = {k: v for k, v in document.inference.items() if k != "algorithm"}
    for key in ("batch_size", "refine"):
        asked.pop(key, None)
    if any(isinstance(value, dict) for value in asked.values()):
        return f"ocbnn.{study.inference!r}"
    name = PLANS[str(document.inference.get("algorithm", "nuts")).lower()].__name__
    return f"ocbnn.{name}({', '.join(f'{k}={v!r}' for k, v in asked.items())})"


def _verdict(one: dict[str, Any]) -> str:
    said = "".join(f"<li>{html.escape(s)}</li>" for s in one["verdict"]["sentences"])
    return f"<h2>Verdict: {html.escape(one['verdict']['status'])}</h2><ul>{said}</ul>"


def _rules(
    one: dict[str, Any], other: dict[str, Any] | None, proved: list[dict[str, Any]]
) -> str:
    proofs = {found["rule"]: found["sentence"] for found in proved}
    rows = [
        (found["rule"], _share(found["violation"]), proofs.get(found["rule"], ""))
        for found in one["rules"]
    ]
    head = ("rule", "broken in this share of its region", "proved")
    return f"<h2>Rules</h2>{_table(head, rows)}" if rows else ""


def _scores(one: dict[str, Any], other: dict[str, Any] | None) -> str:
    rows = [
        (name, f"{value:.4g}", _number((other or {}).get("scores", {}).get(name)))
        for name, value in one["scores"].items()
    ]
    return f"<h2>Scores</h2>{_table(('', 'with rules', 'without'), rows)}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.2%}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    line = lambda cells, tag: "".join(
        f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells
    )
    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return f"<table><tr>{line(head, 'th')}</tr>{body}</table>"


def _block(title: str, text: str) -> str:
    return f"<h2>{title}</h2><pre>{html.escape(text)}</pre>" if text else ""
