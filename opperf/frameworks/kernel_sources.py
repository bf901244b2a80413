"""Facts of a framework's own repository: in which files the kernels of its operators are, and how
their names are found there. The function `read_kernel_sources` beside a framework's entry point
reads it, without the framework."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from opperf.frameworks import module_of
from opperf.model import Struct

Names = frozenset[str]


class Entry(Struct, frozen=True):
    """Lines of a declaration, from 1, and the operators that it declares."""

    first: int
    last: int
    operators: Names


class KernelSources(Struct, frozen=True):
    """Where the operators of a repository are."""

    folders: tuple[str, ...] = ()
    """Of the kernels in C++, from the top of the repository."""
    kernels: Mapping[str, Names] = {}
    """Operators by the name of the function that implements them."""
    registering: str = "(?!)"
    """Regular expression of the macros whose first argument is an operator."""
    through: str = "(?!)"
    """Regular expression of operators that others are followed from: internal ones, gradients."""
    declarations: Mapping[str, tuple[Entry, ...]] = {}
    """Declarations of operators by file."""
    gradients: Mapping[str, Names] = {}
    """Operators by the one that computes their gradient."""
    prefixes: Mapping[str, str] = {}
    """Beginnings of the names of operators that are Python functions, by the beginning of their
    file's path."""


def read_kernel_sources(framework: str, repository: Path) -> KernelSources:
    """Returns what a repository says of a framework's operators; nothing if it is not the
    framework's."""
    read = getattr(module_of(framework), "read_kernel_sources", None)
    return (read and read(repository)) or KernelSources()
