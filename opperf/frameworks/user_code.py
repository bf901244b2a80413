"""Targets of a user: a function in a file or module, an object built before it is called, a snippet
of source. They are the same for every framework."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from opperf.decoding import parse_python
from opperf.errors import UnknownOperatorError, UnsupportedError, UsageError, one_line, suggest
from opperf.frameworks.literals import literal
from opperf.frameworks.user_modules import Imports, file_here, file_named, imported, module_of
from opperf.model import (
    CallableTarget,
    ChainTarget,
    FileTarget,
    ModelTarget,
    ObjectTarget,
    SnippetTarget,
    Target,
    TraceTarget,
    split_positional,
)

IN_FILE = re.compile(r"(?P<file>.+\.py):(?P<function>[\w.]+)")
"""`kernels.py:softmax`."""

IN_MODULE = re.compile(r"(?P<module>[\w.]+):(?P<function>[\w.]+)")
"""`kernels:softmax`, of an installed module or of `kernels.py` in the working directory."""

Find = Callable[[str], Callable[..., Any]]
"""Finds a framework's callable by its dotted path."""


def target_at(
    framework: str, text: str, own_modules: bool = False
) -> FileTarget | CallableTarget | None:
    """Returns the target of a name with a colon; None for any other name. A module in the working
    directory is a file target, as workers import nothing from there by name; with
    `own_modules`, of another interpreter, it is none. Raises as `file_here`."""
    found = IN_FILE.fullmatch(text)
    if found:
        return FileTarget(framework=framework, **found.groupdict())
    found = IN_MODULE.fullmatch(text)
    if not found:
        return None
    file = None if own_modules else file_here(found["module"])
    if file is not None:
        return FileTarget(framework=framework, file=str(file), function=found["function"])
    return CallableTarget(framework=framework, path=text)


def function_of(target: Target, find: Find, names: Mapping[str, ModuleType]) -> Callable[..., Any]:
    """Returns the callable of a target that is no registered operator. `find` looks up the
    framework's callables, `names` are the variables that a snippet can use. Raises
    `UnknownOperatorError` for a missing name, and `UsageError` for code that fails when it is
    loaded."""
    if isinstance(target, FileTarget):
        return _attribute(module_of(str(Path(target.file).resolve())), target.function)
    if isinstance(target, ObjectTarget):
        unnamed, named = split_positional(target.arguments)
        built: Callable[..., Any] = constructor_of(target, find, names)(*unnamed, **named)
        return built
    if isinstance(target, SnippetTarget):
        return _snippet(target, names)
    if isinstance(target, ChainTarget):
        defined: dict[str, Any] = dict(names)
        exec(compile(target.source, f"<{target.label}>", "exec"), defined)
        chain: Callable[..., Any] = defined[CHAIN]
        return chain
    if isinstance(target, TraceTarget):
        raise UnsupportedError(f"{target.label} is the replay of a trace, which is no function")
    if isinstance(target, ModelTarget):
        raise UnsupportedError(f"{target.label} is a model, which is built before it is called")
    assert isinstance(target, CallableTarget)
    module, colon, name = target.path.partition(":")
    if not colon:
        return find(target.path)
    return _attribute(imported(module, repr(target.path), f":{name}"), name)


def constructor_of(target: ObjectTarget, find: Find, names: Container[str]) -> Callable[..., Any]:
    """Returns what builds an object, of the framework if its path begins with one of `names`.
    Raises `UnknownOperatorError`, and `UnsupportedError` if a package is not installed."""
    if target.file:
        return _attribute(module_of(str(Path(target.file).resolve())), target.path)
    first = re.split("[.:]", target.path)[0]
    if first in names and ":" not in target.path:
        return find(target.path)
    watch = nullcontext if first in sys.modules else Imports.watch
    try:
        with watch(first):
            found: Callable[..., Any] = pkgutil.resolve_name(target.path)
    except ModuleNotFoundError as error:
        package = (error.name or first).partition(".")[0]
        raise UnsupportedError(
            f"{target.path} needs the package {package}, which is not installed: pip install "
            f"{PACKAGES.get(package, package)}"
        ) from error
    except AttributeError as error:
        known = vars(error.obj) if isinstance(error.obj, ModuleType) else ()
        raise UnknownOperatorError(
            f"{target.path!r}: {one_line(str(error))}{suggest(error.name or '', known)}"
        ) from error
    except Exception as error:
        # As of a package for another version of the framework.
        reason = one_line(f"{type(error).__name__}: {error}")
        raise UnsupportedError(f"{target.path}: {first} cannot be imported: {reason}") from error
    if not callable(found):
        raise UnknownOperatorError(f"{target.path!r} is not callable")
    return found


PACKAGES = {"fbgemm_gpu": "fbgemm-gpu-cpu, or fbgemm-gpu for GPUs"}
"""The requirement that installs a package, where it has another name than the package."""


CHAIN = "chain"
"""The function that the source of a chain defines."""

OBJECT = "layer"
"""Variable of a script that is the object which the case builds before it is called."""


def call_parameters(built: type) -> dict[str, bool] | None:
    """Returns what an object of a class is called with, each with whether it is required: as
    `forward` if its call passes all on to that. None for a class that is not called."""
    calls = [vars(base)["__call__"] for base in built.__mro__ if "__call__" in vars(base)]
    if not calls:
        return None
    forward = getattr(built, "forward", None)
    takes_any = inspect.Parameter.VAR_KEYWORD in kinds_of(calls[0])
    return parameters_of(forward if callable(forward) and takes_any else calls[0])


def kinds_of(function: Callable[..., Any]) -> set[Any]:
    """Returns the kinds of a function's parameters: one that passes arguments on takes any."""
    return {parameter.kind for parameter in inspect.signature(function).parameters.values()}


def parameters_of(function: Callable[..., Any], bound: int = 1) -> dict[str, bool]:
    """Returns a function's parameters after `bound`, each with whether it is required."""
    own = list(inspect.signature(function).parameters.values())[bound:]
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        parameter.name: parameter.default is parameter.empty
        for parameter in own
        if parameter.kind in named
    }


def call_in_script(target: Target) -> tuple[list[str], str]:
    """Returns the lines that import or build a user's target, and its name there, if it is one."""
    if isinstance(target, ObjectTarget):
        return _object_in_script(target)
    if isinstance(target, ChainTarget):
        return ["", "", *target.source.splitlines(), "", ""], CHAIN
    if isinstance(target, FileTarget):
        return ["import runpy"], _in_file(target.file, target.function)
    if isinstance(target, CallableTarget) and ":" in target.path:
        module, _, name = target.path.partition(":")
        return [f"import {module}"], f"{module}.{name}"
    return [], ""


def _in_file(file: str, name: str) -> str:
    first, *rest = name.split(".")
    return ".".join([f"runpy.run_path({str(Path(file).resolve())!r})[{first!r}]", *rest])


def _object_in_script(target: ObjectTarget) -> tuple[list[str], str]:
    unnamed, named = split_positional(target.arguments)
    words = [literal(value) for value in unnamed]
    words += [f"{name}={literal(value)}" for name, value in named.items()]
    module, _, name = target.path.replace(":", ".").rpartition(".")
    imported, path = f"import {module}", f"{module}.{name}"
    if target.file:
        imported, path = "import runpy", _in_file(target.file, target.path)
    return [imported, f"{OBJECT} = {path}({', '.join(words)})"], OBJECT


def imports_in_script(names: Iterable[str]) -> list[str]:
    """Returns a script's lines that import a user's modules. What a file defines is kept: a library
    of operators may end with its last reference."""
    lines = []
    for number, name in enumerate(names):
        file = file_named(name)
        run = f"module{number} = runpy.run_path({str(file and file.resolve())!r})"
        lines += [f"import {name}"] if file is None else ["import runpy", run]
    return list(dict.fromkeys(lines))


def object_of(target: FileTarget | CallableTarget) -> Any:
    """Returns what a user's file or module has under a name. Raises as `function_of`."""
    if isinstance(target, FileTarget):
        return _found(module_of(str(Path(target.file).resolve())), target.function)
    module, _, name = target.path.partition(":")
    return _found(imported(module, repr(target.path), f":{name}"), name)


def _attribute(module: ModuleType, name: str) -> Callable[..., Any]:
    place = _found(module, name)
    if not callable(place):
        where = module.__file__ or module.__name__
        raise UnknownOperatorError(f"{name!r} of {where} is not callable")
    found: Callable[..., Any] = place
    return found


def _found(module: ModuleType, name: str) -> Any:
    place: Any = module
    where = getattr(module, "__file__", None) or module.__name__
    for word in name.split("."):
        if not hasattr(place, word):
            raise UnknownOperatorError(f"{where} has no {name!r}{suggest(word, vars(place))}")
        place = getattr(place, word)
    return place


def _snippet(target: SnippetTarget, names: Mapping[str, ModuleType]) -> Callable[..., Any]:
    """Returns a function that runs the snippet, and returns the value of a last expression."""
    if target.language != "python":
        raise UsageError(f"{target.label}: no framework here runs {target.language}")
    try:
        steps: ast.Module = parse_python(target.source, target.label)
        setup = compile(target.setup, f"{target.label} (setup)", "exec")
    except SyntaxError as error:
        raise UsageError(f"{target.label}: {one_line(str(error))}") from error
    last: CodeType | None = None
    closing = steps.body[-1] if steps.body else None
    if isinstance(closing, ast.Expr):
        del steps.body[-1]
        last = compile(ast.Expression(closing.value), target.label, "eval")
    code = compile(steps, target.label, "exec")
    namespace = dict(names)
    exec(setup, namespace)

    def run(**arguments: Any) -> Any:
        namespace.update(arguments)
        exec(code, namespace)
        return None if last is None else eval(last, namespace)

    return run
