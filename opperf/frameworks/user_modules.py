"""Modules of a user: where a name or a file leads, and which files were loaded for a target."""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from opperf.decoding import place_in
from opperf.errors import BrokenModuleError, OpperfError, UnknownOperatorError, UsageError, one_line
from opperf.frameworks.object_parts import is_users
from opperf.model import (
    CallableTarget,
    FileTarget,
    LoadedFile,
    ModelTarget,
    ObjectTarget,
    Role,
    Target,
)
from opperf.model.declaring import ID_LENGTH

PREFIX = "opperf_user_"
"""Beginning of the name of the module that a user's file is loaded as."""

OWN_MODULES = "OPPERF_OWN_MODULES"
"""Environment variable of processes that are compared with others of another interpreter or path:
they import a module as their own Python would, never from the working directory."""

SEARCHED = ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE")
"""Environment variables that decide where a Python finds modules."""

BESIDE: list[str] = []
"""Folders of users' files, at the end of the path, so that the files can import what is beside
them."""


Watcher = Callable[[str], AbstractContextManager[object]]
"""Returns a context in which a user's module is imported, by its name or file."""


class Imports:
    """Where imports of users' modules are announced: to a worker's manager, which limits their
    time."""

    watch: Watcher = nullcontext


def file_here(name: str) -> Path | None:
    """Returns the file of the working directory that a module's name means; None if there is none,
    or if this process imports as its own Python would. Raises `UsageError` if an installed module
    has the name, too."""
    file = _in_working_directory(name)
    if file is None or os.environ.get(OWN_MODULES):
        return None
    if _root(name) in sys.stdlib_module_names:
        # Nobody measures Python's own.
        return file
    with _without_folders_beside():
        spec = _spec_of(name)
    if spec is not None and spec.has_location and not _is_same(file, spec.origin):
        raise UsageError(
            f"{name} is two files, {file} in this folder and {spec.origin} of this Python: name "
            "the one to measure by its path"
        )
    return file


def _in_working_directory(name: str) -> Path | None:
    words = name.split(".")
    # Of no other words is a path made: a module's name may come from a file.
    if not all(map(str.isidentifier, words)) or len(name) > LONGEST_NAME:
        return None
    file = Path(*words).with_suffix(".py")
    return file if file.is_file() else None


LONGEST_NAME = 240
"""Most characters of a module's name that is looked for as a file: most systems have no longer name
than 255 bytes."""


def _is_same(file: Path, other: str | None) -> bool:
    return other is not None and file.resolve() == Path(other).resolve()


def _spec_of(name: str) -> ModuleSpec | None:
    """Returns where Python finds a module. Imports nothing."""
    first, *rest = name.split(".")
    spec = _found(first)
    for word in rest:
        if spec is None or spec.submodule_search_locations is None:
            return None
        first = f"{first}.{word}"
        spec = PathFinder.find_spec(first, spec.submodule_search_locations)
    return spec


def _found(name: str) -> ModuleSpec | None:
    # Not by `importlib.util`, which returns what is imported already.
    for finder in sys.meta_path:
        spec = finder.find_spec(name, None) if hasattr(finder, "find_spec") else None
        if spec is not None:
            return spec
    return None


@contextmanager
def _without_folders_beside() -> Iterator[None]:
    """Takes the folders of users' files from the path: what is measured comes from none by
    accident."""
    sys.path[:] = [folder for folder in sys.path if folder not in BESIDE]
    try:
        yield
    finally:
        sys.path.extend(folder for folder in BESIDE if folder not in sys.path)


def imported(name: str, shown: str, function: str = "") -> ModuleType:
    """Returns the module of a name, which Python finds by itself. Raises `UnknownOperatorError` for
    a module that is missing, and `BrokenModuleError` for one that fails when it is loaded, which is
    `shown` there."""
    here = _in_working_directory(name)
    path = here or f"path/to/{name.rpartition('.')[2]}.py"
    try:
        # One that is loaded already takes no time.
        watch = nullcontext if name in sys.modules else Imports.watch
        with watch(name), _without_folders_beside():
            module = importlib.import_module(name)
            if _is_beside(module) and _spec_of(name) is None:
                # A file of the user has imported it, from its own folder.
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    except Exception as error:
        # One that it imports itself may be missing, too.
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            raise UnknownOperatorError(
                f"{shown}: {one_line(str(error))}; install it, or name its file: {path}{function}"
            ) from error
        raise BrokenModuleError(
            f"{shown} cannot be loaded: {one_line(f'{type(error).__name__}: {error}')}"
        ) from error
    return module


def _is_beside(module: ModuleType) -> bool:
    parents = Path(_file_of(module)).parents
    return any(Path(folder).resolve() in parents for folder in BESIDE)


@functools.cache
def module_of(path: str) -> ModuleType:
    """Returns the module in a file, by its absolute path. Its folder comes last on the path, so
    that it can import modules beside it, and a `random.py` there hides no other. Raises
    `UnknownOperatorError` without the file, and `UsageError` for code that fails."""
    file = Path(path)
    if not file.is_file():
        raise UnknownOperatorError(f"{path}: no such file")
    # Under another name, as its own may be that of another module.
    spec = importlib.util.spec_from_file_location(f"{PREFIX}{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
        BESIDE.append(str(file.parent))
    sys.modules[spec.name] = module
    try:
        with Imports.watch(path):
            spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[spec.name]
        raise UsageError(
            f"{place_in(error, path)} cannot be loaded: "
            f"{one_line(f'{type(error).__name__}: {error}')}"
        ) from error
    return module


def file_named(name: str) -> Path | None:
    """Returns the file that a module's name means, a path included; else None. Raises as
    `file_here`."""
    return Path(name) if name.endswith(".py") else file_here(name)


def import_module(name: str) -> ModuleType:
    """Returns the module of a file or of a name, which may be a file in the working directory.
    Raises as `module_of` and `imported`."""
    file = file_named(name)
    return imported(name, name) if file is None else module_of(str(file.resolve()))


def loaded_for(target: Target) -> tuple[LoadedFile, ...]:
    """Returns the files that were loaded for a user's target: of its module, of that which defines
    it, and of the compiled modules of their package. Empty for the framework's own, and for what is
    not loaded."""
    file, name, attribute = _place(target)
    try:
        module = module_of(str(Path(file).resolve())) if file else sys.modules[name]
    except (OpperfError, KeyError):
        return ()
    if not file and _root(name) == target.framework:
        return ()
    defining = _defining(module, attribute)
    found = {file or name: (module, Role.NAMED if file else Role.MEASURED)}
    if defining not in ("", module.__name__):
        # A file is the user's choice, and what it finds beside itself is not.
        role = Role.MEASURED if file and _is_beside(sys.modules[defining]) else Role.PART
        found[defining] = sys.modules[defining], role
    packages = {_root(word) for word in filter(None, (name, defining))} - {target.framework}
    for word, part in sorted(sys.modules.items()):
        if _root(word) in packages and _file_of(part).endswith(tuple(EXTENSION_SUFFIXES)):
            found.setdefault(word, (part, Role.PART))
    return _described(found)


def _root(name: str) -> str:
    return name.partition(".")[0]


def _place(target: Target) -> tuple[str, str, str]:
    """Returns the file that a user's target names, or its module, and its name there."""
    if isinstance(target, FileTarget):
        return target.file, "", target.function
    if isinstance(target, ModelTarget) and not target.suite:
        module, _, name = target.name.rpartition(":")
        return target.file, module, name
    if isinstance(target, ObjectTarget):
        module, _, name = target.path.rpartition(":" if ":" in target.path else ".")
        return target.file, module, name if module else target.path
    if isinstance(target, CallableTarget) and ":" in target.path:
        module, _, name = target.path.partition(":")
        return "", module, name
    return "", "", ""


def _defining(module: ModuleType, attribute: str) -> str:
    """Returns the name of the module that defines what another one has; empty if it is unknown."""
    place: Any = module
    for word in attribute.split("."):
        place = getattr(place, word, None)
    name = getattr(inspect.unwrap(place) if callable(place) else place, "__module__", None)
    return name if isinstance(name, str) and name in sys.modules else ""


def loaded_modules(roles: Mapping[str, Role]) -> tuple[LoadedFile, ...]:
    """Returns the files of modules that are loaded, by name or path, which has a role of its
    own."""
    found = {}
    for name, role in roles.items():
        file = file_named(name)
        if file is not None:
            found[name] = module_of(str(file.resolve())), Role.NAMED
        elif name in sys.modules:
            found[name] = sys.modules[name], role
    return _described(found)


OPPERF = __name__.partition(".")[0]


def users_modules() -> tuple[LoadedFile, ...]:
    """Returns the files of the modules that are a user's own, or that a path of the environment
    leads to, by name; of a package its first."""
    paths = os.pathsep.join(os.environ.get(name, "") for name in SEARCHED).split(os.pathsep)
    folders = {Path(path).resolve() for path in paths if path}
    files = {name: _file_of(module) for name, module in sys.modules.items()}
    found = {}
    for name, file in sorted(files.items()):
        is_first = not files.get(name.rpartition(".")[0]) and not name.startswith(PREFIX)
        if not file or not is_first or _root(name) in (OPPERF, "__main__", "__mp_main__"):
            continue
        parents = Path(file).parents
        # Python's library has modules that its list of names lacks.
        is_own = is_users(name) and Path(os.__file__).resolve().parent not in parents
        if is_own or not folders.isdisjoint(parents):
            found[name] = sys.modules[name], Role.PART
    return _described(found)


def _described(found: Mapping[str, tuple[ModuleType, Role]]) -> tuple[LoadedFile, ...]:
    return tuple(
        LoadedFile(name, file, _hash_of(file, Path(file).stat().st_mtime_ns), role)
        for name, (module, role) in found.items()
        if (file := _file_of(module))
    )


def _file_of(module: ModuleType) -> str:
    """Returns the file of a module, links followed; empty if it has none."""
    file = getattr(module, "__file__", None)
    path = Path(file) if isinstance(file, str) else None
    return str(path.resolve()) if path is not None and path.is_file() else ""


@functools.lru_cache(maxsize=256)
def _hash_of(file: str, changed_ns: int) -> str:
    """Returns the hash of a file's content, which is read again once it has changed."""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:ID_LENGTH]


def after_import(name: str, then: Callable[[], None]) -> Callable[[], None]:
    """Calls a function once the module of this name is imported, at once if it is. Returns what
    ends waiting for that."""
    if name in sys.modules:
        then()
        return lambda: None
    finder = _Finder(name, then)
    sys.meta_path.insert(0, finder)
    return finder.remove


class _Finder(MetaPathFinder):
    """Finds one module as all others together do, and has it call a function when it is loaded."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name, self._then = name, then

    def remove(self) -> None:
        """Ends waiting."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        # The others are asked, and this one not again.
        self.remove()
        spec = importlib.util.find_spec(fullname)
        loader = spec.loader if spec is not None else None
        if loader is None or not hasattr(loader, "exec_module"):
            return spec
        load = loader.exec_module

        def load_and_call(module: ModuleType) -> None:
            load(module)
            self._then()

        loader.exec_module = load_and_call  # type: ignore[method-assign]
        return spec
