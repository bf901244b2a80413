"""Texts that stand below assignments in a module, which Python does not keep."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from types import ModuleType


def _below(body: Iterable[ast.stmt]) -> Iterator[tuple[str, str]]:
    statements = list(body)
    for assigned, text in zip(statements, [*statements[1:], None], strict=True):
        if isinstance(assigned, ast.Assign) and isinstance(assigned.targets[0], ast.Name):
            is_text = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
            yield assigned.targets[0].id, inspect.cleandoc(text.value.value) if is_text else ""


def texts_of_members(member_of: type) -> dict[str, str]:
    """Returns the text below each member of a class, empty where there is none, in order."""
    (found,) = ast.parse(inspect.getsource(member_of)).body
    assert isinstance(found, ast.ClassDef)
    return dict(_below(found.body))


def texts_of_constants(module: ModuleType) -> dict[str, str]:
    """Returns the text below each constant of a module, empty where there is none, in order."""
    return dict(_below(ast.parse(inspect.getsource(module)).body))
