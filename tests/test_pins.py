"""What is installed for tests is what was meant, and has no known holes."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / "requirements" / "lock.txt").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# The first versions in which a hole that people told of is closed.
MENDED = {"starlette": "1.3.1", "h11": "0.16"}


def pins():
    """Every pin: its requirement, and the hashes of its files."""
    for block in re.split(r"\n(?=\S)", LOCK.strip()):
        first, *others = block.replace("\\\n", "\n").splitlines()
        yield Requirement(first), [line.strip() for line in others]


def test_every_pin_has_hashes_and_no_address():
    result = list(pins())
    assert len(result) > 50
    for requirement, hashes in result:
        assert [one.operator for one in requirement.specifier] == ["=="]
        assert hashes, requirement
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes)
    assert "://" not in LOCK
    assert "index-url" not in LOCK


def test_pins_are_what_the_project_asks_for():
    versions = {}
    for requirement, _ in pins():
        (pin,) = requirement.specifier
        versions.setdefault(requirement.name, []).append(pin.version)
    extras = PROJECT["optional-dependencies"]
    for text in [
        *PROJECT["dependencies"],
        *(one for all in extras.values() for one in all),
    ]:
        asked = Requirement(text)
        assert all(one in asked.specifier for one in versions[asked.name]), text


def test_versions_with_known_holes_are_not_taken():
    for extra in ("studio", "test"):
        asked = PROJECT["optional-dependencies"][extra]
        floors = {one.name: one.specifier for one in map(Requirement, asked)}
        for name, least in MENDED.items():
            (floor,) = floors[name]
            assert floor.operator == ">="
            assert Version(floor.version) >= Version(least)
