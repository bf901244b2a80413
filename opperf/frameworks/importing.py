"""Calls a function once a module is imported."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


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
