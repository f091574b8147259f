"""No crash hides among the slow tests: every file of them has a daily one, too."""

import ast
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SLOW = "pytest.mark.slow"
FILES = [path for path in HERE.rglob("test_*.py") if SLOW in path.read_text()]


def daily(tree):
    """Tests of a file that no mark of their own or of the file makes slow."""
    said = [ast.unparse(node) for node in tree.body]
    if any(text.startswith("pytestmark") and SLOW in text for text in said):
        return []
    tests = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [
        node.name
        for node in tests
        if node.name.startswith("test_")
        and SLOW not in map(ast.unparse, node.decorator_list)
    ]


def test_slow_tests_are_found():
    assert len(FILES) > 20
    both = f"@{SLOW}\ndef test_a(): ...\ndef test_b(): ..."
    assert daily(ast.parse(both)) == ["test_b"]
    assert daily(ast.parse(f"pytestmark = {SLOW}\ndef test_a(): ...")) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HERE)))
def test_a_file_with_slow_tests_has_a_daily_one(path):
    assert daily(ast.parse(path.read_text()))
