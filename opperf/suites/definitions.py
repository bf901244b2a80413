"""Folders that define a bench: the script, what is installed for it, and the settings of its
`benchfile.py`, which is read and never run."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, NamedTuple

from opperf.reading import read_text
from opperf.suites.bench import Bench

SCRIPT, BENCHFILE, SUFFIX = "main.py", "benchfile.py", ".py"

MAIN = "main_script"
"""Setting of a benchfile with another name of the script."""


class Definition(NamedTuple):
    """A definition on this machine."""

    path: str
    """The folder, or the script where it is one or has another name than `main.py`."""
    folder: str
    benchfile: dict[str, Any]
    """Constants of the class in the benchfile, by name."""
    problem: str = ""
    """Why it cannot be run; empty if it can."""


def read_definition(path: Path) -> Definition:
    """Returns the definition at a path: a folder, or a script."""
    folder = path if path.is_dir() else path.parent
    if not path.exists():
        return Definition(str(path), str(path), {}, f"{path}: no such file or folder")
    if path.is_file():
        return Definition(str(path), str(folder), {})
    settings = _settings(folder / BENCHFILE)
    named = settings.get(MAIN)
    script = folder / (named if isinstance(named, str) and named else SCRIPT)
    is_usual = script.name == SCRIPT and script.parent == folder
    problem = "" if script.is_file() else f"{script}: no such script"
    return Definition(str(folder if is_usual else script), str(folder), settings, problem)


def folder_of_script(bench: Bench) -> Path:
    """Returns the folder of the definition of a script."""
    path = Path(bench.content[0])
    # What is not there is taken for a folder, unless it is named like a script.
    if not (path.is_file() or path.suffix == SUFFIX):
        return path
    named = bench.benchfile.get(MAIN)
    # The script may be in a folder below.
    depth = len(Path(named).parts) if isinstance(named, str) and named else 1
    return path.parents[depth - 1]


def _settings(file: Path) -> dict[str, Any]:
    """Returns the constants of the classes in a benchfile; none of what is no Python."""
    try:
        tree = ast.parse(read_text(file))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        # Without it, a folder is what its files' names say.
        return {}
    found: dict[str, Any] = {}
    for statement in tree.body:
        if not isinstance(statement, ast.ClassDef):
            continue
        for inner in statement.body:
            if isinstance(inner, ast.Assign):
                target, value = inner.targets[0], inner.value
            elif isinstance(inner, ast.AnnAssign) and inner.value:
                target, value = inner.target, inner.value
            else:
                continue
            if not isinstance(target, ast.Name):
                continue
            try:
                found[target.id] = ast.literal_eval(value)
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                # A value that the code computes is none that a file says.
                continue
    return found
