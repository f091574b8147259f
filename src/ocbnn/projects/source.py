"""The text of a study file, and the lines of its keys."""

import dataclasses
import functools
import re
import tomllib
from pathlib import Path
from typing import Any

from ocbnn.core.advice import Advice, Kind
from ocbnn.core.sentences import Sentence
from ocbnn.core.words import shorten
from ocbnn.errors import SettingError
from ocbnn.projects.toml import DEEPEST, one_line, too_deep

Key = tuple[str | int, ...]

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]\]?")
_KEY = re.compile(r"""\s*["']?([\w.-]+)["']?\s*=""")
_MOST_BYTES = 10_000_000
_TOO_LONG = "a whole number has at most 19 digits. Write a smaller one."


@dataclasses.dataclass(frozen=True)
class Source:
    """A study file as it was written.

    Attributes
    ----------
    path
        Its name in errors.
    text
        Its content.
    folder
        The folder that its paths are relative to.
    """

    path: Path
    text: str
    folder: Path

    def document(self) -> dict[str, Any]:
        """The file as nested dictionaries.

        Raises
        ------
        SettingError
            When it is not TOML; the error names the line.
        """
        # Python's parser recurses into brackets, and takes minutes for long keys.
        if (line := too_deep(self.text)) is not None:
            raise SettingError(
                f"{self.path}, line {line}: brackets or the parts of a key are nested "
                f"more than {DEEPEST} levels deep. A study file needs only a few."
            )
        try:
            document = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            problem = str(error)
            place = re.search(r" \(at line (\d+), column (\d+)\)", problem)
            line = f", line {place[1]}" if place else ""
            shown = f"\n  {self._line(int(place[1]))}" if place else ""
            problem = problem[: place.start()] if place else problem
            raise SettingError(
                f"{self.path}{line}: this is not TOML: {problem}. Write text in "
                f'quotes, `key = "text"`, and lists in brackets.{shown}'
            ) from None
        except ValueError:  # Python refuses integers of several thousand digits.
            raise SettingError(f"{self.path}: {_TOO_LONG}") from None
        self._refuse_long(document)
        return document

    def _refuse_long(self, document: dict[str, Any]) -> None:
        pending: list[tuple[Key, Any]] = [((), document)]
        while pending:
            key, value = pending.pop()
            if isinstance(value, dict):
                pending += [((*key, name), child) for name, child in value.items()]
            elif isinstance(value, list):
                pending += [((*key, i), child) for i, child in enumerate(value)]
            elif isinstance(value, int) and not -(2**63) <= value < 2**63:
                raise self.mistake(key, _TOO_LONG)

    def mistake(self, key: Key, message: str | Exception) -> SettingError:
        """An error about a key, with the file and the line."""
        return SettingError(Sentence(self.place(key), ": ", message))

    def place(self, key: Key) -> str:
        """File, line and key in words, as far as they are known."""
        line = self.line_of(key)
        where = f"{self.path}, line {line}" if line else f"{self.path}"
        if not key:
            return where
        values = {"file": where, "key": spell_key(key), "name": _name(key)}
        return Sentence(Advice(Kind.KEY, values=values))

    def line_of(self, key: Key) -> int | None:
        """The line on which a key is set, or else the line of its section."""
        while key:
            if key in self._lines:
                return self._lines[key]
            key = key[:-1]
        return None

    def _line(self, number: int) -> str:
        """A line to quote; TOML counts line feeds only."""
        return shorten(one_line("".join(self.text.split("\n")[number - 1 : number])))

    @functools.cached_property
    def _lines(self) -> dict[Key, int]:
        lines: dict[Key, int] = {}
        section: Key = ()
        counts: dict[str, int] = {}
        for number, line in enumerate(self.text.splitlines(), start=1):
            if header := _HEADER.match(line):
                name = header[2]
                section = tuple(name.split("."))
                if header[1] == "[[":
                    counts[name] = counts.get(name, -1) + 1
                    section = (*section, counts[name])
                lines.setdefault(section, number)
                lines.setdefault(section[:1], number)
            elif key := _KEY.match(line):
                lines.setdefault((*section, *key[1].split(".")), number)
        return lines


def read_source(path: str | Path, folder: Path | None = None) -> Source:
    """Read a study file; its paths are relative to `folder`, or to its own folder.

    Raises
    ------
    SettingError
        When there is no such file, or it is not text.
    """
    path = Path(path)
    if path.is_dir():
        raise SettingError(f"{path}: this is a folder. Name a study file (.toml).")
    if not path.exists():
        raise SettingError(
            f"{path}: there is no such study file. `ocbnn init DATA.csv` writes one."
        )
    if path.suffix != ".toml" or path.stat().st_size > _MOST_BYTES:
        raise SettingError(
            f"{path}: a study file is a short text whose name ends in .toml. "
            "`ocbnn init DATA.csv` writes one."
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingError(
            f"{path}: this is not UTF-8 text ({error.reason} at byte "
            f"{error.start + 1}). Save it as UTF-8."
        ) from None
    return Source(path, text, folder or path.parent)


def _name(key: Key) -> str:
    """A key without its section, for readers who see no file."""
    if key[0] == "rules":
        return spell_key(key)
    return spell_key(tuple(part for part in key if isinstance(part, str))[-1:])


def spell_key(key: Key) -> str:
    """A key as it is written in the file.

    >>> spell_key(("fit", "seed")), spell_key(("rules", 1, "rule")), spell_key(("x",))
    ('[fit] seed', 'rule 2, rule', 'x')
    >>> spell_key(("inference", "sampler", "chains"))
    '[inference.sampler] chains'
    """
    key = tuple(shorten(part) if isinstance(part, str) else part for part in key)
    if key[:1] == ("rules",) and len(key) > 1 and isinstance(key[1], int):
        return ", ".join([f"rule {key[1] + 1}", *map(str, key[2:])])
    names = [str(part) for part in key if isinstance(part, str)]
    *section, last = names
    return f"[{'.'.join(section)}] {last}" if section else last
