"""The saved report of a fit, as text, as a document and as a web page."""

import html
import json
from pathlib import Path
from typing import Any

from ocbnn.errors import SettingError
from ocbnn.projects.folder import RunFolder
from ocbnn.storage import replace_file

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  font: 1rem/1.5 system-ui, sans-serif; color: #222; background: #fff; }}
img {{ max-width: 100%; }}
table {{ border-collapse: collapse; }}
th, td {{ text-align: left; padding: 0.2rem 1rem 0.2rem 0; vertical-align: top; }}
th {{ border-bottom: 1px solid #888; }}
pre {{ font: 0.9rem/1.5 ui-monospace, monospace; white-space: pre-wrap; }}
</style>
<h1>{title}</h1>
{body}
</html>
"""


def read_report(path: Path) -> tuple[str, dict[str, Any]]:
    """The report as text and as a document.

    Raises
    ------
    SettingError
        When the folder holds no finished fit.
    """
    folder = RunFolder(path)
    folder.run()
    if not folder.report_text.exists() or not folder.report_json.exists():
        raise SettingError(
            f"{path}: this fit has no report yet. `ocbnn resume {path}` continues it."
        )
    document = json.loads(folder.report_json.read_text(encoding="utf-8"))
    return folder.report_text.read_text(encoding="utf-8"), document


def write_html(out: Path, folder: Path, text: str) -> None:
    """Write the report as a self-contained web page."""
    page = web_page(folder.name, f"<pre>{html.escape(text)}</pre>")
    replace_file(out, page.encode())


def web_page(title: str, body: str) -> str:
    """A page in the house style; `body` is HTML."""
    return _PAGE.format(title=html.escape(title), body=body)
