"""Tables of results as HTML, Markdown and LaTeX."""

import dataclasses
import html
from typing import Any

NONE = "\N{EN DASH}"
_LATEX = {
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "±": r"$\pm$",
    "⁻": "$^{-}$",
    "³": "$^{3}$",
    NONE: "--",
}


@dataclasses.dataclass(frozen=True)
class Table:
    """A caption, the heads of columns, and rows of cells as text."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.heads):
                raise ValueError(
                    f"a row of table {self.caption!r} has {len(row)} cells under "
                    f"{len(self.heads)} heads: {row}"
                )

    def markdown(self) -> str:
        """A pipe table under its caption."""
        lines = [self.heads, ("---",) + ("---:",) * (len(self.heads) - 1), *self.rows]
        body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"{self.caption}\n\n{body}\n"

    def latex(self) -> str:
        """A `tabular` that needs no LaTeX package."""
        row = lambda cells: " & ".join(map(_latex, cells)) + r" \\"
        columns = "l" + "r" * (len(self.heads) - 1)
        body = "\n".join(map(row, self.rows))
        return (
            f"% {self.caption}\n\\begin{{tabular}}{{{columns}}}\n\\hline\n"
            f"{row(self.heads)}\n\\hline\n{body}\n\\hline\n\\end{{tabular}}\n"
        )

    def html(self) -> str:
        """A table that scrolls if it is wide."""
        cells = lambda tag, row: "".join(f"<{tag}>{safe(c)}</{tag}>" for c in row)
        body = "".join(f"<tr>{cells('td', row)}</tr>" for row in self.rows)
        return (
            f'<div class="scroll"><table><caption>{safe(self.caption)}</caption>'
            f"<thead><tr>{cells('th', self.heads)}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>"
        )


def number(value: Any, digits: int | None = None) -> str:
    """A value as text for people: a number, several or none.

    >>> number(0.000123456), number(1234.5), number(None), number({"low": 0.25})
    ('0.0001235', '1234', '–', 'low 0.25')
    >>> number(0.12345, 3)
    '0.123'
    """
    match value:
        case None:
            return NONE
        case dict():
            return ", ".join(f"{key} {item:.2f}" for key, item in value.items())
        case list():
            return "; ".join(number(item, digits) for item in value)
        case int() | float():
            places = ".0f" if abs(value) >= 100 else ".4g"
            return f"{value:{places if digits is None else f'.{digits}f'}}"
    return str(value)


def spread(numbers: dict[str, Any], key: str, digits: int, scale: float = 1.0) -> str:
    """A mean with its standard deviation over splits, or a dash.

    >>> spread({"acc": 0.7612, "acc_sd": 0.021}, "acc", 3)
    '0.761 ± 0.021'
    """
    mean, sd = numbers.get(key), numbers.get(f"{key}_sd")
    if mean is None:
        return NONE
    shown = number(scale * mean, digits)
    return shown if sd is None else f"{shown} ± {number(scale * sd, digits)}"


def safe(value: Any) -> str:
    """Text escaped for HTML."""
    return html.escape(str(value))


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
