"""Files of a problem and of its baselines, made of the scripts of an operator's calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from opperf.candidates.model import Problem
from opperf.frameworks.literals import literal
from opperf.frameworks.scripts import variable
from opperf.model import Argument, TensorSpec, iter_tensors

SEED = "seed"

OUTPUT = "out"
"""The name of the result in a framework's script."""

COMPILED = "compiled"

WAITED = ("jax.block_until_ready",)
"""Functions around a call that wait for its result: the judge does."""

UNRECORDED = ("torch.no_grad()",)
"""Contexts of a call that have no effect on inputs without gradients."""


class Script(NamedTuple):
    """A framework's script of a call in parts, each a list of statements."""

    head: tuple[str, ...]
    inputs: tuple[str, ...]
    """They make the tensors, of a `seed`."""
    call: tuple[str, ...]
    """The body of a function of the inputs by role, which returns the result."""

    @property
    def key(self) -> tuple[str, ...]:
        """All that calls of one file have in common."""
        return (*(text for text in self.head if not text.startswith(SHARED)), *self.call)


SHARED = ("import ", "from ", "def fill_blocks(")
"""Beginnings of statements that any file may have."""


def read_script(script: str, names: Mapping[str, str]) -> Script:
    """Returns the parts of a script. `names` are its variables of the tensors, by their places
    among the inputs by role, such as `data` or `tensors.0`."""
    head: list[ast.stmt] = []
    inputs: list[ast.stmt] = []
    call: list[ast.stmt] = []
    for node in ast.parse(script).body:
        body = _call(node)
        if body is not None:
            call.append(body)
        elif isinstance(node, ast.FunctionDef) or not (inputs or isinstance(node, ast.Assign)):
            head.append(node)
        else:
            inputs.append(_Seeded().visit(node))
    (body,) = call
    returned = next(each for each in ast.walk(body) if isinstance(each, ast.Return))
    assert isinstance(returned.value, ast.Call)
    if isinstance(returned.value.func, ast.Call):
        # Compiled once, and not again in each call.
        compiled = ast.Assign([ast.Name(COMPILED)], returned.value.func, lineno=0)
        head.append(compiled)
        returned.value.func = ast.Name(COMPILED)
    by_role = _ByRole({name: _of_role(place) for place, name in names.items()})
    return Script(_texts(head), _texts(inputs), _texts([by_role.visit(body)]))


def _texts(nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    return tuple(ast.unparse(ast.fix_missing_locations(node)) for node in nodes)


def _call(node: ast.stmt) -> ast.stmt | None:
    """Returns the statement that calls the operator as one that returns its result; None of any
    other."""
    if isinstance(node, ast.With):
        inner = _call(node.body[0])
        if inner is None:
            return None
        contexts = [each for each in node.items if ast.unparse(each) not in UNRECORDED]
        return ast.With(contexts, [inner]) if contexts else inner
    if not (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == OUTPUT):
        return None
    value = node.value
    while isinstance(value, ast.Call) and ast.unparse(value.func) in WAITED:
        value = value.args[0]
    return ast.Return(value)


class _Seeded(ast.NodeTransformer):
    """Has generators begin with the seed in front of their own."""

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802 - a name of ast
        self.generic_visit(node)
        if ast.unparse(node.func).endswith("default_rng") and isinstance(node.args[0], ast.List):
            node.args[0].elts.insert(0, ast.Name(SEED))
        return node


class _ByRole(ast.NodeTransformer):
    """Has a call take its tensors by role."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: N802 - a name of ast
        found = self._names.get(node.id)
        return node if found is None else ast.parse(found, mode="eval").body


def _of_role(place: str) -> str:
    """Returns the expression of a place in a function of the roles: `tensors[0]`."""
    role, *rest = place.split(".")
    return variable(role) + "".join(f"[{index}]" for index in rest)


class Row(NamedTuple):
    """The inputs of a trial."""

    trial: dict[str, Any]
    roles: Mapping[str, Argument]
    names: Mapping[str, str]
    """The tensors' variables in the script, by the place of the role that they are."""
    script: Script


def signature(roles: Iterable[str]) -> str:
    """Returns the arguments of a candidate, as Python writes them."""
    return ", ".join(map(variable, roles))


def write_problem(
    folder: Path, problem: Problem, roles: Sequence[str], rows: Sequence[Row]
) -> Problem:
    """Writes the inputs of rows, and the call that they have in common, into a new folder. Returns
    the problem."""
    call = rows[0].script.call
    lines = _head(rows)
    lines += ["", "", f"def {problem.function}({signature(roles)}):", *_indented(call)]
    for number, row in enumerate(rows):
        values = [_value(role, row.roles.get(role), row.names) for role in roles]
        made = [*row.script.inputs, f"return [{', '.join(values)}]"]
        lines += ["", "", f"def inputs{number}({SEED}):", *_indented(made)]
    lines += ["", "", "INPUTS = {"]
    lines += [
        f"    {tuple(row.trial.values())!r}: inputs{number}," for number, row in enumerate(rows)
    ]
    lines += ["}", "", "", f"def {problem.inputs}({SEED}, **trial):"]
    lines += [f"    return INPUTS[tuple(trial.values())]({SEED})"]
    return msgspec.structs.replace(
        problem,
        file=_written(folder, problem.function, lines),
        trials=tuple(row.trial for row in rows),
    )


def write_baseline(folder: Path, name: str, roles: Sequence[str], rows: Sequence[Row]) -> str:
    """Writes the call that rows have in common as a candidate. Returns the file's path."""
    call = _indented(rows[0].script.call)
    return _written(
        folder, name, [*_head(rows), "", "", f"def candidate({signature(roles)}):", *call]
    )


def _head(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(each for row in rows for each in row.script.head))


def _indented(statements: Iterable[str]) -> list[str]:
    return [f"    {line}" for text in statements for line in text.splitlines()]


def _value(place: str, value: Argument, names: Mapping[str, str]) -> str:
    """Returns the expression of an input; a list of tensors is one."""
    if isinstance(value, TensorSpec):
        return names[place]
    if isinstance(value, tuple) and any(iter_tensors(value)):
        each = (_value(f"{place}.{index}", one, names) for index, one in enumerate(value))
        return f"[{', '.join(each)}]"
    return literal(value)


def _written(folder: Path, name: str, lines: Sequence[str]) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{''.join(each if each.isalnum() else '_' for each in name)}.py"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path.resolve())
