"""Snippets of Python as functions without parameters."""

from __future__ import annotations

import ast
import linecache
import symtable
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

from opperf.errors import UsageError, one_line
from opperf.model import SnippetTarget

MODEL = "model"
"""The variable that a target's `model` makes."""


MODULE = "snippet"
"""The name of the module in which a snippet is run; TorchScript needs one."""


def variables_of(target: SnippetTarget, names: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the variables that a snippet's setup makes, run after those in `names`. Raises
    `UsageError` for code that is no Python, and what the setup raises."""
    namespace = {"__name__": MODULE, **names}
    exec(compiled(target.setup, f"{target.label} (setup)"), namespace)
    return namespace


def make_model(target: SnippetTarget, namespace: dict[str, Any]) -> Any:
    """Returns a snippet's model, whose source can be inspected, and adds it to the variables.
    Raises `UsageError` if there is none, and what its code raises."""
    name = f"<{target.label}: model>"
    namespace.setdefault("__name__", MODULE)
    lines = target.model.splitlines(keepends=True)
    linecache.cache[name] = (len(target.model), None, lines, name)
    exec(compiled(target.model, name), namespace)
    if MODEL not in namespace:
        raise UsageError(f"{target.label}: its setup makes no variable {MODEL!r}")
    return namespace[MODEL]


def compiled(text: str, name: str) -> CodeType:
    """Returns the code of a text. Raises `UsageError` for one that is no Python."""
    try:
        return compile(text, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{name}: {one_line(str(error))}") from error


def function_of(target: SnippetTarget, namespace: dict[str, Any]) -> Callable[[], Any]:
    """Returns a function that runs the statement once, and returns its result's variable or None.
    The setup's variables are those of an enclosing function: as quick to read as local ones, and
    kept from call to call. Raises `UsageError` for code that is no Python."""
    compiled(target.source, target.label)
    table = symtable.symtable(target.source, target.label, "exec")
    symbols = [symbol for symbol in table.get_symbols() if symbol.get_name() in namespace]
    used = _used(target, set(namespace) - {"__builtins__"})
    rebound = sorted(
        symbol.get_name()
        for symbol in symbols
        if symbol.is_assigned() and symbol.get_name() in used
    )
    keep = f"nonlocal {', '.join(rebound)}" if rebound else "pass"
    template = ast.parse(
        f"def make({', '.join(used)}):\n"
        f"    def run():\n"
        f"        {keep}\n"
        f"        return {target.output or None}\n"
        f"    return run\n"
    )
    (make,) = template.body
    assert isinstance(make, ast.FunctionDef) and isinstance(make.body[0], ast.FunctionDef)
    run = make.body[0]
    run.body[1:1] = ast.parse(target.source).body
    try:
        code = compile(template, f"<{target.label}>", "exec", dont_inherit=True)
    except SyntaxError as error:
        # As `import *`, which a function cannot have.
        raise UsageError(f"{target.label}: {one_line(str(error))}") from error
    exec(code, namespace)
    made: Callable[[], Any] = namespace.pop("make")(**{name: namespace[name] for name in used})
    return made


def _used(target: SnippetTarget, known: set[str]) -> list[str]:
    names = {node.id for node in ast.walk(ast.parse(target.source)) if isinstance(node, ast.Name)}
    return sorted((names | {target.output}) & known)
