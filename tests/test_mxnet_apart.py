"""MXNet is known in its own folders, and nowhere else in the package's code."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import opperf

PACKAGE = Path(opperf.__file__).parent

OWN = (
    *("frameworks/mxnet", "rules/mxnet", "models/mxnet", "mxnet_api", "utils"),
    # Where MXNet's users import from: each passes on names of the folders above.
    *("custom_operations", "nd_operations", "rules/default_params.py"),
)
"""Folders and files that exist for MXNet alone."""

ALLOWED = {
    "__init__.py": "its users import `run_all_mxnet_operator_benchmarks` from the package",
    "numpy_aliases.py": "`import opperf` loads it, and none of MXNet's folders",
    "results/opperf_json.py": "the keys of results of its own utility are data, like a format's",
    "frameworks/__init__.py": "the table of frameworks that come with opperf is data",
    "execution/experiments.py": "the table of modes that one framework has is data",
    "models/networks.py": "the table of frameworks that have its networks is data",
    "models/packages.py": "the table of suites of other packages is data",
}
"""Other files that name MXNet, each with the reason."""


def words(source: str) -> Iterator[tuple[int, str]]:
    """Lines and words of a module's code: names, imports and strings that are not documentation."""
    tree = ast.parse(source)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in alone:
                yield node.lineno, text
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.ImportFrom(module=str(name)):
                yield node.lineno, name
            case ast.alias(name=name, asname=renamed):
                yield node.lineno, f"{name} {renamed}"


def lines_naming_mxnet(source: str) -> list[int]:
    # Most modules do not have the word, and need not be parsed.
    if "mxnet" not in source.lower():
        return []
    return sorted({line for line, word in words(source) if "mxnet" in word.lower()})


@pytest.mark.parametrize(
    "source",
    [
        "import mxnet as mx",
        "from mxnet import nd",
        "import elsewhere as mxnet",
        "from opperf.frameworks.mxnet import registry",
        "x = 'mxnet'",
        "x = f'MXNet {1}'",
        "def mxnet(): ...",
        "class MXNet: ...",
        "def f(mxnet): ...",
        "f(mxnet=1)",
        "x.mxnet",
        "mxnet = 1",
    ],
)
def test_code_that_names_it_is_found(source):
    assert lines_naming_mxnet(source) == [1]


def test_comments_and_documentation_may_name_it():
    assert lines_naming_mxnet('"""MXNet."""\nx = 1  # mxnet\n"""As mxnet has it."""\n') == []


def modules() -> Iterator[tuple[str, Path]]:
    """The modules that are not MXNet's, each with its path in the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if not any(path.is_relative_to(PACKAGE / own) for own in OWN):
            yield path.relative_to(PACKAGE).as_posix(), path


def test_nothing_else_in_the_package_names_it():
    found = {
        f"{name}:{line}"
        for name, path in modules()
        for line in lines_naming_mxnet(path.read_text())
        if name not in ALLOWED
    }
    assert found == set()


def test_every_exception_is_one():
    named = {name for name, path in modules() if lines_naming_mxnet(path.read_text())}
    assert set(ALLOWED) == named


def test_every_folder_of_its_own_is_there():
    assert all((PACKAGE / own).exists() for own in OWN)
