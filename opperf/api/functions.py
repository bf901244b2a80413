"""Names, for worker processes, of function objects that a program or a notebook passes.

A function of a module is imported from there. One of the program itself, of a notebook's cell or of
another function is written to a file of its own, with the source of what it uses.
"""

from __future__ import annotations
import __future__

import ast
import hashlib
import inspect
import linecache
import sys
import sysconfig
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from opperf.api.calls import framework_of_call
from opperf.errors import UsageError
from opperf.folders import data_folder
from opperf.frameworks import load, package_of
from opperf.model import OperatorTarget
from opperf.results.output import replace

MAIN = "__main__"

NOTEBOOK = "notebook.py"
"""Name of the file of functions that no file defines."""

INSTALLED = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))
"""Folders in which every process of this Python finds modules."""

PLAIN = (bool, int, float, complex, str, bytes, type(None), tuple, list, dict, set)
"""Types of values that a source can have as literals."""


def framework_of_functions(words: Iterable[object]) -> str | None:
    """Returns the framework whose functions are passed, or that they use; None without any."""
    functions = [word for word in words if callable(word)]
    return (framework_of_call(functions, ()) or None) if functions else None


def name_of(function: Callable[..., Any]) -> str:
    """Returns the name under which a worker finds a function: an operator's, 'module:function' or
    'file.py:function'. Raises `UsageError` for what no other process can have."""
    return _of_framework(function) or _of_module(function) or _written(function)


def _of_framework(function: Callable[..., Any]) -> str:
    framework = framework_of_call(function, ())
    package = package_of(framework) if framework else None
    if package is None:
        return ""
    target = load(framework).naming.target_of(function)
    if isinstance(target, OperatorTarget):
        return target.label
    path: str = getattr(target, "path", "")
    return path if path.partition(".")[0] in (package.name, *package.parts) else ""


def _of_module(function: Callable[..., Any]) -> str:
    module = sys.modules.get(getattr(function, "__module__", None) or MAIN)
    name = getattr(function, "__qualname__", "")
    if module is None or module.__name__ == MAIN or not _has(module, name, function):
        return ""
    file = Path(getattr(module, "__file__", None) or "")
    is_alone = file.suffix == ".py" and not module.__package__ and not _is_installed(file)
    return f"{file if is_alone else module.__name__}:{name}"


def _module_of(value: object, name: str) -> str:
    """Returns the name of the module that defines a value; empty if it is unknown."""
    own: str = getattr(value, "__module__", None) or ""
    # NumPy's compiled functions do not say theirs.
    packages = [] if own or not name else [each for each in sys.modules if "." not in each]
    return own or next((each for each in packages if _has(sys.modules[each], name, value)), "")


def _has(module: ModuleType, name: str, value: object) -> bool:
    found: object = module
    for word in name.split("."):
        found = getattr(found, word, None)
    return found is value


def _is_installed(file: Path) -> bool:
    return any(folder in file.parents for folder in INSTALLED)


def _written(function: Callable[..., Any]) -> str:
    """Writes a function to a file, unless the same is there, and returns its name there."""
    source = Source(function)
    text = source.text()
    # Only the file's name is part of a case's id: what is edited stays the same case.
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    path = data_folder() / "functions" / digest / source.file_name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, text.encode())
    return f"{path}:{source.name}"


class Source:
    """The source of a function, with that of all it uses of its own program."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name: str = getattr(function, "__name__", "")
        plain = inspect.unwrap(function)
        if not isinstance(plain, FunctionType) or self.name == "<lambda>":
            raise UsageError(
                f"{function!r} is no function that is defined by `def`: define one that calls it"
            )
        if plain is not function and plain.__globals__.get(self.name) is not function:
            raise UsageError(
                f"{self.name} is made of another function: decorate that one, or define one that "
                "calls it"
            )
        self._module = plain.__module__
        file = Path(plain.__code__.co_filename)
        self.file_name = file.name if file.is_file() else NOTEBOOK
        self._definitions: dict[str, str] = {}
        self._imports: dict[str, str] = {}
        self._folders: dict[str, None] = {}
        self._is_future = bool(plain.__code__.co_flags & __future__.annotations.compiler_flag)
        self._names = plain.__globals__
        self._add(self.name, function)

    def text(self) -> str:
        """Returns the content of the file."""
        future = ["from __future__ import annotations"] if self._is_future else []
        folders = [f"sys.path.append({folder!r})" for folder in self._folders]
        path = ["import sys", *folders] if folders else []
        return "\n".join([*future, *path, *self._imports.values(), *self._definitions.values()])

    def _add(self, name: str, value: Any) -> None:
        """Adds a definition, after all that it uses."""
        plain = inspect.unwrap(value)
        free = getattr(getattr(plain, "__code__", None), "co_freevars", ())
        if free:
            raise self._refused(name, f"uses {free[0]!r} of the function around it")
        try:
            text = _source_of(plain)
        except (OSError, TypeError) as error:
            raise self._refused(name, f"has no source ({error})") from error
        self._definitions[name] = ""
        for used in _names_in(text):
            if used in self._names and used != name:
                self._use(name, used, self._names[used])
        del self._definitions[name]
        self._definitions[name] = text

    def _use(self, user: str, name: str, value: Any) -> None:
        if name in self._definitions or name in self._imports:
            return
        if isinstance(value, ModuleType):
            self._import(value.__name__, f"import {value.__name__} as {name}", name)
            return
        own: str = getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or ""
        module = _module_of(value, own)
        is_defined = isinstance(inspect.unwrap(value), FunctionType) or isinstance(value, type)
        if is_defined and module == self._module and value is self._names.get(own):
            self._add(name, value)
        elif module in sys.modules and own.isidentifier() and _has(sys.modules[module], own, value):
            self._import(module, f"from {module} import {own} as {name}", name)
        elif _is_literal(value):
            self._definitions[name] = f"{name} = {value!r}\n"
        else:
            kind = type(value).__name__
            raise self._refused(user, f"uses {name!r}, an object of type {kind}")

    def _import(self, module: str, line: str, name: str) -> None:
        file = getattr(sys.modules[module.partition(".")[0]], "__file__", None)
        if file and not _is_installed(Path(file)):
            folder = Path(file).resolve().parent
            self._folders[str(folder.parent if Path(file).stem == "__init__" else folder)] = None
        self._imports[name] = line

    def _refused(self, name: str, why: str) -> UsageError:
        return UsageError(
            f"{name} {why}, which a worker process cannot be given: pass that as an argument, make "
            "it inside the function, or define the function in a file and name it "
            f"'file.py:{self.name}'"
        )


def _source_of(value: Any) -> str:
    if not isinstance(value, type):
        return textwrap.dedent(inspect.getsource(value))
    # Python finds that of a class by its module's file, which a notebook has not.
    files = {
        method.__code__.co_filename
        for method in vars(value).values()
        if isinstance(method, FunctionType)
    }
    for file in files:
        lines = linecache.getlines(file)
        for node in ast.walk(ast.parse("".join(lines))):
            if isinstance(node, ast.ClassDef) and node.name == value.__name__:
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                return textwrap.dedent("".join(lines[first - 1 : node.end_lineno]))
    return textwrap.dedent(inspect.getsource(value))


def _names_in(text: str) -> Iterator[str]:
    found = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))
    yield from dict.fromkeys(node.id for node in found)


def _is_literal(value: object) -> bool:
    if type(value) not in PLAIN:
        return False
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError):
        return False
