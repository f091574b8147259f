"""A page that sets every figure beside its numbers."""

import html
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

Result = dict[str, Any]

_ROWS = {
    "train_rmse": "training RMSE",
    "train_accuracy": "training accuracy",
    "violation": "violation",
    "draws_violating": "draws violating",
    "allowed_probability": "probability of the allowed classes",
    "in_region_sd": "spread of the function in the regions",
    "modes": "modes",
    "modes_by_run": "modes, run by run",
    "rhat_max": "R-hat, largest",
    "ess_min": "effective sample size, least",
    "ess_median": "effective sample size, median",
    "acceptance": "acceptance",
    "log_evidence": "log evidence, run by run",
    "seconds": "seconds",
}


def write_index(out: Path, results: list[Result]) -> Path:
    """Write `index.html` beside the studies' folders."""
    page = files("ocbnn.studies").joinpath("index.html").read_text()
    first = results[0]
    quick = " This was a quick run: smaller than the studies call for." * first["quick"]
    text = Template(page).substitute(
        intro=f"Preset <code>{_safe(first['preset'])}</code>, seed {first['seed']}, "
        f"{sum(r['seconds']['total'] for r in results):.0f} seconds in all.{quick}",
        overview="\n".join(map(_overview_row, results)),
        sections="\n".join(map(_section, results)),
        versions=_safe(", ".join(f"{k} {v}" for k, v in first["versions"].items())),
    )
    path = out / "index.html"
    path.write_text(text)
    return path


def _overview_row(result: Result) -> str:
    base, ours = result["models"]["bnn"], result["models"]["ocbnn"]
    name = _safe(result["study"])
    cells = [
        f'<a href="#{name}">{name}</a>',
        *map(
            _number,
            (
                base["violation"],
                ours["violation"],
                ours["rhat_max"],
                ours["ess_min"],
                result["seconds"]["total"],
            ),
        ),
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _section(result: Result) -> str:
    name = _safe(result["study"])
    rules = "".join(f"<li><code>{_safe(rule)}</code></li>" for rule in result["rules"])
    models = dict(result["models"])
    heads = {"bnn": "BNN", "ocbnn": "OC-BNN", "paper": "OC-BNN, the paper's inference"}
    if "paper_inference" in result:
        models["paper"] = result["paper_inference"]
    head = "".join(f"<th>{heads[key]}</th>" for key in models)
    rows = "".join(
        f"<tr><td>{label}</td>"
        + "".join(f"<td>{_number(m.get(key))}</td>" for m in models.values())
        + "</tr>"
        for key, label in _ROWS.items()
        if any(m.get(key) is not None for m in models.values())
    )
    remark = f"<p>{_safe(result['remark'])}</p>" if result["remark"] else ""
    verdicts = "".join(
        f"<li>{heads[key]}: {_safe(m['verdict'])}</li>" for key, m in models.items()
    )
    return f"""<section id="{name}">
<h2>{name} <span class="dim">{_safe(result["paper"]["figure"])}</span></h2>
<p>The paper's point: {_safe(result["paper"]["claim"])}.</p>
<ul>{rules}</ul>
<figure><img src="{name}/{name}.png" alt="{name}: posterior with and without rules">
</figure>{remark}
<div class="scroll"><table><thead><tr><th></th>{head}</tr></thead>
<tbody>{rows}</tbody></table></div>
<ul class="dim">{verdicts}</ul>
</section>"""


def _number(value: Any) -> str:
    match value:
        case None:
            return "&ndash;"
        case dict():
            return ", ".join(f"{_safe(k)} {v:.2f}" for k, v in value.items())
        case list():
            return "; ".join(map(_number, value))
        case int() | float() if abs(value) >= 100:
            return f"{value:.0f}"
        case int() | float():
            return f"{value:.4g}"
    return _safe(value)


def _safe(value: Any) -> str:
    return html.escape(str(value))
