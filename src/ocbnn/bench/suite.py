"""The benchmark cases, and the function that runs them."""

import platform
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax

from ocbnn.bench import hmc, nuts, predict, rules, start, svgd
from ocbnn.bench.finding import Finding
from ocbnn.core.cores import cores
from ocbnn.core.versions import library_versions
from ocbnn.core.words import suggest
from ocbnn.errors import SettingError

Case = Callable[[str, int], Iterator[Finding]]

CASES: dict[str, Case] = {
    "hmc-toy": hmc.beside_a_bare_loop,
    "nuts-toy": nuts.beside_others,
    "svgd-clinical": lambda n, r: svgd.share_of_products(n, svgd.CLINICAL, r),
    "svgd-motion": lambda n, r: svgd.share_of_products(n, svgd.MOTION, r),
    "svgd-many": lambda n, r: svgd.growth(n, (125, 250, 500, 1000), r),
    "predict": lambda n, r: predict.predictions(n, 298_000, r),
    "rules": lambda n, r: rules.cost_of_rules(n, (1, 10, 100), r),
    "start": start.beginnings,
}


def run_bench(
    names: list[str], *, repeats: int = 5, say: Callable[[Finding], None]
) -> dict[str, Any]:
    """Run benchmark cases one after the other.

    Parameters
    ----------
    names
        The cases; all if empty.
    repeats
        Repetitions.
    say
        Called with every finding as soon as it is measured.

    Returns
    -------
    dict[str, Any]
        The date, the machine, the versions and every number.

    Raises
    ------
    SettingError
        When there is no such case.
    """
    for name in names:
        if name not in CASES:
            raise SettingError(
                f"there is no case {name!r}.{suggest(name, CASES)} Write one of "
                f"{', '.join(CASES)}."
            )
    measured: list[Finding] = []
    for name in names or CASES:
        for finding in CASES[name](name, repeats):
            measured.append(finding)
            say(finding)
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "versions": library_versions(),
        "repeats": repeats,
        "findings": [finding.to_dict() for finding in measured],
    }


def machine() -> dict[str, Any]:
    """The machine on which numbers are measured."""
    device = jax.devices()[0]
    return {
        "device": f"{device.platform}: {device.device_kind}",
        "devices": jax.device_count(),
        "cores": cores(),
        "processor": platform.processor() or platform.machine(),
    }
