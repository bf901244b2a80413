"""Folders that define a bench: the script, what is installed for it, and the settings of its
`benchfile.py`, which is read and never run."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, NamedTuple

SCRIPT, BENCHFILE = "main.py", "benchfile.py"

MAIN, REQUIREMENTS = "main_script", "base_requirements"
"""Settings of a benchfile with the name of the script, and the files of requirements."""

USUAL = {MAIN: SCRIPT, REQUIREMENTS: "requirements.in"}
"""Values of settings that a benchfile does not have."""


class Definition(NamedTuple):
    """A definition on this machine."""

    path: str
    """The folder, or the script where it is one or has another name than `main.py`."""
    folder: str
    benchfile: dict[str, Any]
    """Constants of the class in the benchfile, by name."""
    requirements: tuple[str, ...] = ()
    """Paths of files of requirements that are not found by their names in `path`."""
    problem: str = ""
    """Why it cannot be run; empty if it can."""


def read_definition(path: Path) -> Definition:
    """Returns the definition at a path: a folder, or a script."""
    folder = path if path.is_dir() else path.parent
    if not path.exists():
        return Definition(str(path), str(path), {}, (), f"{path}: no such file or folder")
    if path.is_file():
        return Definition(str(path), str(folder), {}, _requirements(folder, ()))
    settings = _settings(folder / BENCHFILE)
    script = folder / _text(settings, MAIN)
    own = settings.get(REQUIREMENTS)
    names = (own,) if isinstance(own, str) else tuple(own) if isinstance(own, list) else ()
    problem = "" if script.is_file() else f"{script}: no such script"
    if script.name == SCRIPT and script.parent == folder:
        others = tuple(name for name in names if name != USUAL[REQUIREMENTS])
        files = tuple(str(folder / name) for name in others if (folder / name).is_file())
        return Definition(str(folder), str(folder), settings, files, problem)
    return Definition(str(script), str(folder), settings, _requirements(folder, names), problem)


def _requirements(folder: Path, names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the files of requirements in a folder: those of these names, else the pinned ones,
    else those that these are pinned from."""
    named = [folder / name for name in names]
    usual = [[folder / "requirements.txt"], [folder / USUAL[REQUIREMENTS]]]
    for paths in (named, *usual):
        found = tuple(str(path) for path in paths if path.is_file())
        if found:
            return found
    return ()


def _text(settings: dict[str, Any], key: str) -> str:
    found = settings.get(key)
    return found if isinstance(found, str) and found else USUAL[key]


def _settings(file: Path) -> dict[str, Any]:
    """Returns the constants of the classes in a benchfile; none of what is no Python."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
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
