"""What a person takes away: the study, and code that does the same."""

import io
import textwrap
import zipfile
from pathlib import Path

from ocbnn.inference import PLANS
from ocbnn.projects.study import Study
from ocbnn.studio.document import Document, study_text


def study_file(document: Document, *, quick: bool) -> str:
    """The study file, with what a person must know to use it.

    Args:
        document: What it says.
        quick: Whether the last fit was a quick look.
    """
    notes = [_beside(document)]
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


def python_code(document: Document, study: Study, *, quick: bool) -> str:
    """A script that fits the same model."""
    data, said = document.data, study.said
    kind = "OCBNNClassifier" if study.is_classification else "OCBNNRegressor"
    is_parquet = data.file.lower().endswith(".parquet")
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
        *_notes(document, study, quick),
        "",
        *(["import duckdb"] * is_parquet),
        "import pandas as pd",
        "",
        "import ocbnn",
        "",
        # pandas alone would need yet another library to read it.
        f"table = duckdb.read_parquet({data.file!r}).df()"
        if is_parquet
        else f"table = pd.read_csv({data.file!r})",
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
    return "\n".join(lines).rstrip() + "\n"


def _notes(document: Document, study: Study, quick: bool) -> list[str]:
    holdout = study.said.fit.holdout
    notes = [
        _beside(document),
        "# Besides ocbnn it needs pandas: pip install pandas",
    ]
    if holdout:
        notes.append(f"# The study also holds out {holdout:.0%} of the rows.")
    if quick:
        notes.append("# This is the whole fit; the quick look was a shorter run of it.")
    return notes


def _beside(document: Document) -> str:
    file = document.data.file
    return f"# It reads {file}, which is in study.zip: keep both in one folder."


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
