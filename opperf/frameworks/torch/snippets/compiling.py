"""Compiles one translation unit with PyTorch's own extension builder."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType

from opperf.errors import UnsupportedError
from opperf.frameworks.torch.snippets.units import HEADER

FLAGS = ("-O2",)
"""Flags of the compiler: the optimisation that PyTorch itself is built with."""


def _builder() -> ModuleType:
    """Returns PyTorch's extension builder. It imports setuptools, which takes a quarter of a
    second of every worker's start, and few workers compile anything."""
    from torch.utils import cpp_extension

    return cpp_extension


class CompileError(Exception):
    """A unit that does not compile; the message is the compiler's output."""


def check_compiler() -> None:
    """Raises `UnsupportedError` without a compiler, or without what starts it."""
    words = shlex.split(_builder().get_cxx_compiler())
    if not words or shutil.which(words[0]) is None:
        raise UnsupportedError(
            f"snippets of C++ need a compiler, and there is no {words[0] if words else 'c++'}; "
            "install one (apt install g++), or name it in CXX"
        )
    if not _builder().is_ninja_available():
        raise UnsupportedError("snippets of C++ need ninja; pip install ninja")


@cache
def compiler_version() -> str:
    """Returns the first line of what the compiler says of itself; empty if it says nothing."""
    command = [*shlex.split(_builder().get_cxx_compiler()), "--version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.partition("\n")[0]


def compile_unit(name: str, text: str, file: Path) -> ModuleType:
    """Compiles a unit to this file, and returns its module. Raises `CompileError`."""
    # A folder of its own: two processes may compile the same unit, and one that is killed leaves
    # its lock behind.
    with tempfile.TemporaryDirectory(prefix=f"{name}-") as folder:
        source = Path(folder, f"{name}.cpp")
        source.write_text(text, encoding="utf-8")
        try:
            made: ModuleType = _builder().load(
                name,
                [str(source)],
                extra_cflags=list(FLAGS),
                extra_include_paths=[str(HEADER.parent)],
                build_directory=folder,
            )
        except (RuntimeError, subprocess.SubprocessError) as error:
            raise CompileError(str(error)) from error
        assert made.__file__ is not None
        # Other processes see all of the file or nothing.
        part = file.with_suffix(f".{os.getpid()}")
        shutil.copyfile(made.__file__, part)
        part.replace(file)
    return made


@contextmanager
def plain_messages() -> Iterator[None]:
    """Has compilers write messages in English and ASCII, whatever the user's language is."""
    before = os.environ.get("LC_ALL")
    os.environ["LC_ALL"] = "C"
    try:
        yield
    finally:
        if before is None:
            del os.environ["LC_ALL"]
        else:
            os.environ["LC_ALL"] = before
