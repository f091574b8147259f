"""Downloads: the study file, its archive, and a script that fits the same model."""

import io
import textwrap
import zipfile
from pathlib import Path
from typing import Any

from ocbnn.core.words import share
from ocbnn.inference import Plan
from ocbnn.projects.columns import Rows
from ocbnn.projects.study import Study
from ocbnn.projects.toml import one_line
from ocbnn.studio.document import Document, study_text
from ocbnn.tables.table import MISSING


def study_file(document: Document, *, quick: bool) -> str:
    """The study file, with notes on how to use it.

    Parameters
    ----------
    document
        What a person chose and wrote.
    quick
        Whether the last fit was a quick look.
    """
    notes = [_table_note(document)]
    if quick:
        notes.append("# The quick look's numbers: ocbnn fit study.toml --quick")
    first, rest = study_text(document).split("\n", 1)
    return "\n".join([first, *notes, rest])


def study_archive(folder: Path, document: Document, *, quick: bool) -> bytes:
    """The study file and its table, ready for the command line."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("study.toml", study_file(document, quick=quick))
        archive.write(folder / document.data.file, document.data.file)
    return content.getvalue()


def python_code(
    document: Document, study: Study, rows: Rows, delimiter: str, *, quick: bool
) -> str:
    """A script that fits the same model.

    Names that people chose are written with `repr`, so that they stay text.

    Parameters
    ----------
    document
        What a person chose and wrote.
    study
        The checked study of the same document.
    rows
        The rows read from the table.
    delimiter
        The separator of a CSV file.
    quick
        Whether the last fit was a quick look.
    """
    data, sections = document.data, study.sections
    kind = "OCBNNClassifier" if study.is_classification else "OCBNNRegressor"
    is_parquet = data.file.lower().endswith(".parquet")
    settings = [
        f"rules={_rule_list(document)}",
        f"outputs={list(data.output)!r}",
        f"hidden={tuple(sections.network.hidden)!r}",
        f"activation={sections.network.activation!r}",
        f"weight_prior={sections.network.weight_prior!r}",
        f"weight_scale={sections.network.weight_scale!r}",
        f"standardize={sections.network.standardize!r}",
        f"inference={_inference(document, study)}",
        f"random_state={sections.fit.seed!r}",
    ]
    names = rows.schema.inputs
    if rows.schema.choices:
        groups = [[names[place] for place in group] for group in rows.schema.choices]
        settings.append(f"choices={groups!r}")
    if sections.network.scales is not None:
        settings.append(f"scales={sections.network.scales!r}")
    if sections.inference.batch_size is not None:
        settings.append(f"batch_size={sections.inference.batch_size!r}")
    if not study.is_classification:
        settings.append(f"noise={sections.fit.noise!r}")
        if sections.fit.truncate:
            settings.append("truncate=True")
    if sections.fit.rules_by != "prior":
        settings.append(f"rules_by={sections.fit.rules_by!r}")
    refine = sections.inference.refine
    inputs, output = list(data.inputs), list(data.output)
    target_columns = output if len(output) > 1 else output[0]
    text_columns = [*data.categories, *(output if study.is_classification else [])]
    numbers = [name for name in inputs + output if name not in text_columns]
    has_codes = all(isinstance(label, int) for label in rows.schema.classes or [""])
    lines = [
        repr(f"{document.title}: the same fit in Python."),
        "",
        *_notes(document, study, quick),
        "",
        *(["import duckdb"] * is_parquet),
        "import pandas as pd",
        "",
        "import ocbnn",
        "",
        *_reading(data.file, delimiter, text_columns, is_parquet=is_parquet),
        f"table = table.mask(table.isin({list(MISSING)!r}))",
        f"table = table.astype(dict.fromkeys({numbers!r}, float))",
        *_levels(text_columns),
        *([f"table = table.dropna(subset={inputs + output!r})"] * _drops(document)),
        f"X = table[{inputs!r}]",
        *_categories(document, rows),
        f"y = table[{target_columns!r}]{'.astype(int)' * has_codes}",
        "",
        f"model = ocbnn.{kind}(",
        *textwrap.indent(",\n".join([*settings, ""]), "    ").splitlines(),
        ")",
        f"model.fit(X, y{'' if refine is None else f', refine={refine!r}'})",
        "print(model.report())",
        "print(model.check_rules())" if document.active else "",
    ]
    return "\n".join(lines).rstrip() + "\n"


def _notes(document: Document, study: Study, quick: bool) -> list[str]:
    holdout = study.sections.fit.holdout
    notes = [
        _table_note(document),
        "# Besides ocbnn it needs pandas: pip install pandas",
    ]
    if holdout:
        notes.append(f"# The study also holds out {share(holdout)} of the rows.")
    if quick:
        notes.append("# This is the whole fit; the quick look was a shorter run of it.")
    return notes


def _table_note(document: Document) -> str:
    file = one_line(document.data.file)
    return f"# It reads {file}, which is in study.zip: keep both in one folder."


def _drops(document: Document) -> bool:
    return document.data.missing == "drop"


def _reading(
    file: str, delimiter: str, text_columns: list[str], *, is_parquet: bool
) -> list[str]:
    """Read everything as text, as our tables do, so that pandas guesses no types."""
    if is_parquet:
        # pandas alone would need one more library to read Parquet.
        source = f"duckdb.read_parquet({file!r})"
        lines = [
            f"texts = {source}.project('COLUMNS(*)::VARCHAR').df()[{text_columns!r}]",
            "texts = texts.apply(lambda column: column.str.strip(' '))",
            "table = table.assign(**texts)",
        ]
        return [f"table = {source}.df()", *(lines if text_columns else [])]
    separator = "" if delimiter == "," else f", sep={delimiter!r}"
    return [
        f"table = pd.read_csv({file!r}{separator}, header=None, dtype=str, "
        "keep_default_na=False, encoding='utf-8-sig')",
        "table = table.apply(lambda column: column.str.strip(' '))",
        "names = [name.strip() for name in table.iloc[0]]",
        "table.columns = [name or f'unnamed_{i}' for i, name in enumerate(names, 1)]",
        "table = table[1:]",
    ]


def _levels(text_columns: list[str]) -> list[str]:
    if not text_columns:
        return []
    return [
        f"for name in {text_columns!r}:",
        "    codes = pd.to_numeric(table[name], errors='coerce')",
        "    codes = codes[(codes % 1 == 0) & (codes.abs() < 1e15)].astype('int64')",
        "    # 1, 1.0 and 01 are one value.",
        "    table[name] = codes.astype(str).reindex(table.index).fillna(table[name])",
    ]


def _categories(document: Document, rows: Rows) -> list[str]:
    names = list(document.data.categories)
    if not names:
        return []
    return [
        f"X = pd.get_dummies(X, columns={names!r}, prefix_sep='=', dtype=float)",
        # pandas puts these columns last, and another order is another model.
        f"X = X[{list(rows.schema.inputs)!r}]",
    ]


def _rule_list(document: Document) -> str:
    texts = [f"    {rule.text!r}," for rule in document.active]
    return "[\n" + "\n".join(texts) + "\n]" if texts else "[]"


def _inference(document: Document, study: Study) -> str:
    if isinstance(study.inference, str):
        return repr(study.inference)
    return _plan(study.inference, document.inference)


def _plan(plan: Plan, requested: dict[str, Any]) -> str:
    """A plan with the settings that the document gives, as they were parsed."""
    settings = []
    for key, value in requested.items():
        if key in ("algorithm", "batch_size", "refine"):
            continue
        setting = getattr(plan, key)
        is_nested = isinstance(setting, Plan) and isinstance(value, dict)
        settings.append(
            f"{key}={_plan(setting, value) if is_nested else repr(setting)}"
        )
    return f"ocbnn.{type(plan).__name__}({', '.join(settings)})"
