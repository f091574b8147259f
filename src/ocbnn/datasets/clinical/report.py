"""Counts of rows that were read and excluded, and their report as text."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

STAY_REASONS = (
    "no usable times",
    "no birth date",
    "under 16",
    "shorter than two windows",
)
WINDOW_REASONS = ("no next window", "no mean_bp", "no heart_rate")
FAULTS = ("marked as error", "no number", "too low", "too high")


@dataclass(frozen=True)
class Report:
    """Counts on the way from ICU stays to rows.

    `stays` and `windows` count those kept and, by reason, those excluded;
    `measurements` counts values per feature, kept and by fault; `missing` counts rows
    in which a feature has no value; `irrigated` counts windows whose urine is unknown,
    because more irrigant went in than came out; `rows` describes the final rows.
    """

    stays: dict[str, int]
    windows: dict[str, int]
    measurements: dict[str, dict[str, int]]
    missing: dict[str, int]
    irrigated: int
    rows: dict[str, int]

    @classmethod
    def of(
        cls, counts: Iterable[tuple[str, str, int]], names: Iterable[str]
    ) -> "Report":
        """Make it from rows of (topic, name, count); missing counts are 0."""
        numbers = {(topic, name): n for topic, name, n in counts}

        def topic(of: str, names: Iterable[str]) -> dict[str, int]:
            return {name: numbers.get((of, name), 0) for name in names}

        names = tuple(names)
        return cls(
            stays=topic("stays", ("kept", *STAY_REASONS)),
            windows=topic("windows", ("kept", *WINDOW_REASONS)),
            measurements={name: topic(name, ("kept", *FAULTS)) for name in names},
            missing=topic("missing", names),
            irrigated=numbers.get(("urine", "more irrigant in than out"), 0),
            rows=topic("rows", _ROWS),
        )

    def __str__(self) -> str:
        return "\n".join(_lines(self))


_ROWS = (
    "patients",
    "stays",
    "act",
    "act, treated already",
    "below 65",
    "below 65, act",
)


def _lines(report: Report) -> Iterator[str]:
    yield from _funnel("ICU stays", report.stays)
    yield ""
    yield from _funnel("windows of 4 hours in these stays", report.windows)
    yield ""
    yield from _values(report)
    yield ""
    yield from _outcome(report)


def _funnel(title: str, counts: dict[str, int]) -> Iterator[str]:
    yield f"{title:<44}{sum(counts.values()):>12,}"
    for reason, n in counts.items():
        if reason != "kept":
            yield f"  left out, {reason:<32}{n:>12,}"
    yield f"{'  kept':<44}{counts['kept']:>12,}"


def _values(report: Report) -> Iterator[str]:
    heads = ("values", "error", "no number", "too low", "too high")
    yield f"{'feature':<12}" + "".join(f"{h:>11}" for h in heads) + f"{'missing':>10}"
    for name, counts in report.measurements.items():
        numbers = "".join(f"{n:>11,}" for n in counts.values())
        share = _share(report.missing[name], report.windows["kept"])
        yield f"{name:<12}{numbers}{share:>10}"
    yield f"windows with more irrigant in than out, urine unknown: {report.irrigated:,}"


def _outcome(report: Report) -> Iterator[str]:
    rows, n = report.rows, report.windows["kept"]
    act, low = rows["act"], rows["below 65"]
    yield f"{'rows':<44}{n:>12,}"
    for name in ("patients", "stays"):
        yield f"{'  ' + name:<44}{rows[name]:>12,}"
    for name, count, of in (
        ("  act: treated in the next window", act, n),
        ("    of these, treated in this one too", rows["act, treated already"], act),
        ("  mean_bp below 65", low, n),
        ("    of these, act", rows["below 65, act"], low),
    ):
        yield f"{name:<44}{count:>12,}{_share(count, of):>10}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"
