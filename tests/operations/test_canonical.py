"""The table of canonical operations: their references have the roles that it says, and know no
framework."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import opperf.operations
from opperf.operations import OPERATIONS
from opperf.operations.references.reference import Property
from opperf.operations.table import ALL
from opperf.operations.uses import Input, names_of, operations
from opperf.rules.engine import rules_module

USES = {
    name: names_of(rules_module(f"opperf.rules.{name}").OPERATIONS)
    for name in ("jax", "mxnet", "numpy", "torch")
}
"""By framework, the names of the operators of each operation."""

PACKAGE = Path(opperf.operations.__file__).parent

ALLOWED = {"numpy", "scipy", "opperf.operations", *sys.stdlib_module_names}


def imported(path: Path) -> Iterator[str]:
    """Modules that a file imports: of opperf, the package."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            yield ".".join(name.split(".")[: 2 if name.startswith("opperf") else 1])


def test_references_import_no_framework() -> None:
    found = {path.name: set(imported(path)) for path in (PACKAGE / "references").glob("*.py")}
    assert found["unary.py"] > {"numpy", "scipy"}
    assert {name: modules - ALLOWED for name, modules in found.items() if modules - ALLOWED} == {}


def test_an_operation_is_in_the_table_once() -> None:
    assert len(OPERATIONS) == len(ALL) > 370


def roles(name: str) -> tuple[set[str], set[str]]:
    """The roles that a reference must be given, and all that it knows; of one that takes any, those
    are the table's."""
    reference = OPERATIONS[name].reference
    if isinstance(reference, Property):
        _, *parameters = inspect.signature(reference.pairs).parameters.values()
    else:
        parameters = list(inspect.signature(reference.compute).parameters.values())
    own = [one for one in parameters if one.kind is not inspect.Parameter.VAR_KEYWORD]
    needed = {one.name for one in own if one.default is inspect.Parameter.empty}
    known = {one.name for one in own}
    return needed, known if len(own) == len(parameters) else known | set(OPERATIONS[name].inputs)


def test_the_inputs_are_the_references_own() -> None:
    differing = {}
    for name, operation in OPERATIONS.items():
        needed, known = roles(name)
        if not needed <= set(operation.inputs) <= known:
            differing[name] = (needed, set(operation.inputs), known)
    assert differing == {}


def test_inputs_are_of_known_kinds() -> None:
    kinds = {kind for one in OPERATIONS.values() for kind in one.inputs.values()}
    assert kinds == set(get_args(Input))


def test_inputs_in_order() -> None:
    assert list(OPERATIONS["layer_norm"].inputs.items()) == [
        ("data", "tensor"),
        ("scale", "tensor"),
        ("shift", "tensor"),
        ("axis", "axis"),
        ("epsilon", "float"),
    ]


def test_a_word_that_is_no_input() -> None:
    with pytest.raises(ValueError, match="'y:tensr' of add"):
        list(operations("binary", {"x y:tensr": "add"}))


def test_every_operation_is_a_frameworks() -> None:
    assert set(OPERATIONS) == {name for one in USES.values() for name in one}


def test_operators_of_one_meaning_have_one_operation() -> None:
    added = {"_npi_add", "broadcast_add", "elemwise_add", "_grad_add", "_plus_scalar"}
    assert added <= set(USES["mxnet"]["add"])
