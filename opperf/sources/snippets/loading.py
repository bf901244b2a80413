"""Runs a file of snippets, and finds what is wrong with it."""

from __future__ import annotations

import ast
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from opperf.decoding import parse_python
from opperf.errors import OpperfError, UsageError, one_line
from opperf.snippets import Benchmarks

VARIABLE = "BENCHMARKS"
"""The variable of a file with its definitions."""

PREFIX = "opperf_snippets_"
"""Beginning of the name of the module that a file is run as: its own may be another module's."""


def load(path: Path) -> Benchmarks:
    """Returns the definitions of a file, which is run as a module. Its folder comes last on the
    path of imports, so that it can import modules beside it.

    Raises `UsageError` with file and line.
    """
    tree = _parse(path)
    for line, label, first in _repeated_keys(tree):
        raise UsageError(
            f"{path}:{line}: a second definition of {label!r} in one dict; the first one is in "
            f"line {first}"
        )
    module = ModuleType(f"{PREFIX}{path.stem}")
    module.__file__ = str(path)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    sys.modules[module.__name__] = module
    try:
        exec(compile(tree, str(path), "exec"), vars(module))
    except OpperfError:
        # The message of a definition has its place.
        raise
    except Exception as error:
        raise UsageError(
            f"{path}:{_line(error, path)}: {one_line(f'{type(error).__name__}: {error}')}"
        ) from error
    found: Any = getattr(module, VARIABLE, None)
    if not isinstance(found, Mapping) or not found:
        raise UsageError(
            f"{path}: no definitions; assign a dict of them to {VARIABLE}, as "
            f"{VARIABLE} = {{'add': GroupedStmts('x + 1', setup='x = torch.ones(2)')}}"
        )
    return found


def _parse(path: Path) -> ast.Module:
    try:
        return parse_python(path.read_bytes(), str(path))  # type: ignore[no-any-return]
    except SyntaxError as error:
        raise UsageError(f"{path}:{error.lineno or 1}: {error.msg}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {one_line(str(error))}") from None


def _line(error: Exception, path: Path) -> int:
    """Returns the last line of the file that was run before an error."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path) and frame.lineno
    ]
    return lines[-1] if lines else 1


def _repeated_keys(tree: ast.Module) -> Iterator[tuple[int, Any, int]]:
    """Yields each constant key that a dict of the code has twice, of which Python keeps the last
    one: its line, the key, and the line of the first one."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Dict):
            continue
        lines: dict[Any, int] = {}
        for key in node.keys:
            try:
                value = ast.literal_eval(key) if key is not None else None
            except ValueError:
                # An expression, whose value only a run shows.
                continue
            if key is None or not isinstance(value, (str, tuple)):
                continue
            if value in lines:
                yield key.lineno, value, lines[value]
            lines[value] = key.lineno
