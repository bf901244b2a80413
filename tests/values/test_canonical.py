"""References know no framework, and each of them is of use to one."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.values import mxnet, numpy
from tests.values.canonical import GROUPS, OPERATIONS

CANONICAL = Path(__file__).parent / "canonical"

ALLOWED = {"numpy", "scipy", "tests.values.canonical", *sys.stdlib_module_names}


def imported(path: Path) -> Iterator[str]:
    """Modules that a file imports: of a package of the tests, the package."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            yield ".".join(name.split(".")[: 3 if name.startswith("tests") else 1])


def test_references_import_no_framework() -> None:
    found = {path.name: set(imported(path)) for path in CANONICAL.glob("*.py")}
    assert "unary.py" in found and all(found.values())
    assert {name: modules - ALLOWED for name, modules in found.items() if modules - ALLOWED} == {}


def test_an_operation_is_in_one_group() -> None:
    assert len(OPERATIONS) == sum(len(group.OPERATIONS) for group in GROUPS)


def test_every_operation_is_used_by_a_framework() -> None:
    tables = (mxnet.TABLE, numpy.TABLE)
    used = {name for table in tables for entry in table.values() for name in entry.operations}
    assert set(OPERATIONS) == used


def test_operators_of_one_meaning_have_one_operation() -> None:
    added = ("_npi_add", "broadcast_add", "elemwise_add", "_grad_add", "_plus_scalar")
    assert {name for one in added for name in mxnet.TABLE[one].operations} == {"add"}
