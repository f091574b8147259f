"""A page with every figure and table, next to the paper's."""

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template

from ocbnn.studies.base import Result, Study
from ocbnn.studies.tables import Table, number, safe

_HEADS = (
    "study",
    "preset",
    "violation, BNN",
    "violation, OC-BNN",
    "R-hat",
    "ESS, least",
    "seconds",
)


def write_index(out: Path, studies: Mapping[str, Study]) -> Path:
    """Write `index.html` for the results that a folder holds."""
    results = {
        name: json.loads((out / name / "result.json").read_text())
        for name in studies
        if (out / name / "result.json").is_file()
    }
    page = files("ocbnn.studies").joinpath("index.html").read_text()
    rows = tuple(_overview(studies[name], result) for name, result in results.items())
    links = "".join(f'<a href="#{safe(name)}">{safe(name)}</a>\n' for name in results)
    sections = [_section(studies[name], result) for name, result in results.items()]
    versions = {
        key: version for r in results.values() for key, version in r["versions"].items()
    }
    text = Template(page).substitute(
        links=links,
        overview=Table("All studies in this folder", _HEADS, rows).html(),
        sections="\n".join(sections),
        versions=safe(
            ", ".join(f"{key} {version}" for key, version in versions.items())
        ),
    )
    path = out / "index.html"
    path.write_text(text)
    return path


def _overview(study: Study, result: Result) -> tuple[str, ...]:
    headline = study.headline(result)
    quick = ", quick" if result["quick"] else ""
    numbers = (
        headline.bnn,
        headline.ocbnn,
        headline.rhat,
        headline.ess,
        result["seconds"]["total"],
    )
    return study.name, f"{result['preset']}{quick}", *map(number, numbers)


def _section(study: Study, result: Result) -> str:
    name = safe(study.name)
    quick = " Quick: a smaller run than the study calls for." * result["quick"]
    rules = "".join(f"<li><code>{safe(rule)}</code></li>" for rule in result["rules"])
    figures = "".join(
        f'<figure><img src="{name}/{safe(figure)}.png" alt="{safe(figure)}: with and '
        f'without rules"></figure>'
        for figure in result["figures"]
    )
    remark = f"<p>{safe(result['remark'])}</p>" if result["remark"] else ""
    claim_text = result["paper"].get("claim")
    claim = f"<p>The paper's point: {safe(claim_text)}.</p>" if claim_text else ""
    tables = "".join(table.html() for table in study.tables(result))
    verdicts = "".join(
        f"<li>{label}: {safe(result['models'][key]['verdict'])}</li>"
        for key, label in (("bnn", "BNN"), ("ocbnn", "OC-BNN"))
        if "verdict" in result["models"][key]
    )
    return f"""<section id="{name}">
<h2>{name} <span class="dim">{safe(result["paper"]["figure"])}</span></h2>
{claim}
<p class="dim">Preset {safe(result["preset"])}, seed {result["seed"]}.{quick}</p>
<ul>{rules}</ul>
{figures}{remark}
{tables}
<ul class="dim">{verdicts}</ul>
</section>"""
