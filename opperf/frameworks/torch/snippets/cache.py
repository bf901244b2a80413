"""Compiled snippets in the cache: each by its content, with the unit that has it or its error."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import sys
import sysconfig
import threading
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import msgspec
import torch

from opperf.folders import cache_folder
from opperf.frameworks.torch.snippets.compiling import FLAGS, compiler_version
from opperf.frameworks.torch.snippets.units import HEADER, key_of
from opperf.model import SnippetTarget, Struct

MODULES: dict[str, ModuleType] = {}
"""The units that this process has loaded, by name."""


class Cached(Struct, frozen=True):
    """A snippet's place in a unit, or the compiler's first error."""

    unit: str = ""
    index: int = 0
    error: str = ""


@functools.cache
def folder() -> Path:
    """Returns the folder of this build of PyTorch, interpreter and compiler: what is compiled by
    one is of no use to another."""
    parts = (
        torch.__version__,
        str(torch.version.git_version),
        sysconfig.get_config_var("SOABI") or sys.version,
        compiler_version(),
        *FLAGS,
        HEADER.read_text(encoding="utf-8"),
    )
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    made = cache_folder() / "snippets" / key
    made.mkdir(parents=True, exist_ok=True)
    return made


def unit_file(name: str) -> Path:
    """Returns the file of a compiled unit."""
    return folder() / f"{name}.so"


def find(target: SnippetTarget) -> Cached | None:
    """Returns what the cache has of a snippet; None if that is nothing, or cannot be read."""
    try:
        found = msgspec.json.decode(_file(target).read_bytes(), type=Cached)
    except (OSError, msgspec.DecodeError):
        return None
    return found if found.error or unit_file(found.unit).is_file() else None


def keep_unit(name: str, unit: ModuleType, targets: Sequence[SnippetTarget]) -> None:
    """Keeps a compiled unit for its snippets."""
    MODULES[name] = unit
    for index, target in enumerate(targets):
        _write(_file(target), Cached(unit=name, index=index))


def keep_error(target: SnippetTarget, error: str) -> None:
    """Keeps the error of a snippet that does not compile."""
    _write(_file(target), Cached(error=error))


def module(name: str) -> ModuleType:
    """Returns the module of a unit."""
    if name not in MODULES:
        spec = importlib.util.spec_from_file_location(name, unit_file(name))
        assert spec is not None and spec.loader is not None
        MODULES[name] = made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
    return MODULES[name]


def _write(path: Path, value: Cached) -> None:
    """Writes a file at once, as other processes may read it."""
    part = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    part.write_bytes(msgspec.json.encode(value))
    part.replace(path)


def _file(target: SnippetTarget) -> Path:
    return folder() / f"{key_of(target)}.json"
