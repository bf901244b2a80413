"""What a framework has is asked of its capability objects: no module asks for its class, for an
attribute that it may lack, or for its name."""

import ast
from pathlib import Path

import pytest

import opperf
from opperf.frameworks import BUILT_IN, Framework, load
from opperf.frameworks.core import Capability, Core

PACKAGE = Path(opperf.__file__).parent
OWN = ("frameworks", "rules", "models")
"""Folders with one of each framework."""

CORE = 15
ASKED = {"isinstance", "hasattr", "getattr"}


def is_framework(node):
    return ast.unparse(node).rpartition(".")[2].lstrip("_") in ("framework", "FRAMEWORK")


def is_its_name(node):
    return isinstance(node, ast.Attribute) and node.attr == "name" and is_framework(node.value)


def is_literal(node):
    return any(isinstance(part, ast.Constant) and part.value in BUILT_IN for part in ast.walk(node))


def questions(source):
    """The expressions that ask a framework for its class, an attribute, or its name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and node.args and is_framework(node.args[0]):
            if ast.unparse(node.func) in ASKED:
                yield ast.unparse(node)
        elif isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            named = any(map(is_literal, sides)) and any(map(is_framework, sides))
            if named or any(map(is_its_name, sides)):
                yield ast.unparse(node)


@pytest.mark.parametrize(
    "source",
    [
        "isinstance(framework, Framework)",
        "hasattr(self._framework, 'memory')",
        "x = getattr(visit.framework, 'memory', None)",
        "framework.name == 'torch'",
        "self._framework.name in CONJUGATED",
        "case.target.framework == 'jax'",
        "framework in ('jax', 'torch')",
    ],
)
def test_each_kind_of_question_is_seen(source):
    assert len(list(questions(source))) == 1


def test_what_asks_nothing_is_not_seen():
    sources = "framework.memory.measure(d); say(framework.name); a.framework == b.framework"
    assert not list(questions(sources))


def test_no_module_asks_a_framework_what_it_is():
    own = [PACKAGE / folder / name for folder in OWN for name in BUILT_IN]
    paths = [path for path in PACKAGE.rglob("*.py") if not any(map(path.is_relative_to, own))]
    assert len(paths) > 500
    found = [(str(path), asked) for path in paths for asked in questions(path.read_text())]
    assert not found


def test_the_core_is_small_and_all_else_is_an_object_with_its_default():
    core = {name for name in (*vars(Core), *Core.__annotations__) if not name.startswith("_")}
    assert len(core) == CORE
    bare, of_numpy = vars(Framework()), vars(load("numpy"))
    assert bare and all(isinstance(one, Capability) for one in bare.values())
    assert bare.keys() == of_numpy.keys()
    assert all(isinstance(of_numpy[name], type(one)) for name, one in bare.items())
