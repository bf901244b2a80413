"""Compiles snippets of C++, several in one translation unit, and keeps each in the cache or its
error."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import msgspec
import psutil
import torch

from opperf.decoding import read_as
from opperf.errors import UnsupportedError, UsageError, one_line
from opperf.folders import cache_folder
from opperf.model import SnippetTarget, Struct
from opperf.model.declaring import digest
from opperf.processes.commands import run_command

HEADER = Path(__file__).with_name("statement.h")

DIGITS = 16
"""Hexadecimal digits of a snippet's key: those of a case's id, for the same reason."""


def key_of(target: SnippetTarget) -> str:
    """Returns a hash of what is compiled of a snippet, without names."""
    keeps = target.output if target.differentiated else ""
    parts = (target.global_setup, target.setup, target.source, bool(target.model), keeps)
    return digest(parts)[:DIGITS]


def unit_name(targets: Sequence[SnippetTarget]) -> str:
    """Returns the name of a unit's module, a hash of its content."""
    text = " ".join(map(key_of, targets))
    return f"opperf_snippets_{hashlib.sha256(text.encode()).hexdigest()[:DIGITS]}"


def unit_text(targets: Sequence[SnippetTarget]) -> str:
    """Returns the source of a unit. A compiler's messages name the part of the snippet in which an
    error is, as `PLACE` reads it."""
    directives: dict[str, str] = {}
    bodies: list[str] = []
    for target in targets:
        before, code = _split(target.global_setup)
        directives.setdefault(before, f'#line 1 "{_part("global setup", target)}"\n{before}')
        bodies.append(_body(target, code))
    names = ", ".join(f"snippet_{key_of(target)}::make" for target in targets)
    return "\n".join(
        [
            f"#include <{HEADER.name}>",
            *(text for key, text in directives.items() if key.strip()),
            *bodies,
            '#line 1 "end of the unit"',
            f"static const std::vector<opperf::Constructor> constructors = {{{names}}};",
            f"OPPERF_UNIT({unit_name(targets)}, constructors)",
            "",
        ]
    )


def _part(name: str, target: SnippetTarget) -> str:
    return f"{name} of {key_of(target)}"


def _body(target: SnippetTarget, global_code: str) -> str:
    """Returns the function that runs a snippet's setup, and copies its variables into a
    statement."""
    kind = "Differentiable" if target.differentiated else "Forward"
    returned = f"return opperf::tensor_of({target.output});" if target.differentiated else ""
    model = "auto model = opperf::load_program(program);" if target.model else ""
    lines = [
        f"namespace snippet_{key_of(target)} {{",
        f'#line 1 "{_part("global setup", target)}"',
        global_code,
        "static std::unique_ptr<opperf::Statement> make(",
        "    [[maybe_unused]] const std::string& program) {",
        model,
        f'#line 1 "{_part("setup", target)}"',
        target.setup,
        ";",
        f"return opperf::make<opperf::{kind}>([=]() mutable {{",
        f'#line 1 "{_part("statement", target)}"',
        target.source,
        ";",
        returned,
        "});",
        "}",
        "}",
    ]
    return "\n".join(lines)


def _split(text: str) -> tuple[str, str]:
    """Returns the preprocessor's lines, which must not be in a namespace, and the others."""
    directives: list[str] = []
    code: list[str] = []
    continues = False
    for line in text.splitlines():
        is_directive = continues or line.lstrip().startswith("#")
        directives.append(line if is_directive else "")
        code.append("" if is_directive else line)
        continues = is_directive and line.endswith("\\")
    return "\n".join(directives), "\n".join(code)


PLACE = re.compile(rf"(?P<part>[a-z ]+) of (?P<key>[0-9a-f]{{{DIGITS}}}):(?P<line>\d+)")
"""The place of a snippet in a compiler's message."""

ERROR = re.compile(r"^(?P<place>[^\n]*?):(?:\d+:)?\s*(?:fatal )?error: (?P<text>.*)$")
"""A line of a compiler's output that begins an error."""


class Faults(NamedTuple):
    """The faults of a unit by a compiler."""

    by_key: dict[str, str]
    """The first error of each snippet in which there is one, by the snippet's key."""
    first: str
    """The first error of all."""


def read_faults(output: str) -> Faults:
    """Returns the errors in a compiler's output. An error inside a header is that of the snippet
    which is mentioned before it, as the one that instantiates a template."""
    by_key: dict[str, str] = {}
    first = ""
    mentioned: re.Match[str] | None = None
    for line in output.splitlines():
        mentioned = PLACE.search(line) or mentioned
        error = ERROR.match(line)
        if error is None:
            continue
        text = one_line(error["text"])
        first = first or text
        place = PLACE.search(error["place"]) or mentioned
        if place is not None:
            part = place["part"].strip()
            by_key.setdefault(place["key"], f"C++ {part}, line {place['line']}: {text}")
        mentioned = None
    return Faults(by_key, first or one_line(output[-200:]))


FLAGS = ("-O2",)
"""Flags of the compiler: the optimisation that PyTorch itself is built with."""


def _builder() -> ModuleType:
    """Returns PyTorch's extension builder. It imports setuptools, in a quarter of a second."""
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


@functools.cache
def compiler_version() -> str:
    """Returns the first line of what the compiler says of itself; empty if it says nothing."""
    command = [*shlex.split(_builder().get_cxx_compiler()), "--version"]
    return run_command(command, timeout_s=60).output.partition("\n")[0]


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


MODULES: dict[str, ModuleType] = {}
"""The units that this process has loaded."""


class Cached(Struct, frozen=True):
    """A snippet's place in a unit, or the compiler's first error."""

    unit: str = ""
    index: int = 0
    error: str = ""


@functools.cache
def folder() -> Path:
    """Returns the folder of this build of PyTorch, interpreter and compiler, which has its own."""
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
        found = read_as(_file(target), Cached)
    except (OSError, msgspec.DecodeError):
        return None
    return found if found.error or unit_file(found.unit).is_file() else None


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


LEAST = 8
"""Fewest snippets of a unit, if there are several units: PyTorch's headers take as long to compile
as some thirty snippets, so that smaller units gain nothing from another core."""

UNIT_BYTES = 2 * 2**30
"""Memory of a compiler that reads PyTorch's headers, rounded up from 1.3 GiB."""


HEADER_FAULTS: list[str] = []
"""Why no snippet can be compiled, once this process has found that out by compiling one."""


def build(targets: Iterable[SnippetTarget]) -> None:
    """Compiles the snippets that the cache does not have. What prevents that is no error here:
    `statement_of` raises it for each."""
    asked = {key_of(target): target for target in targets}
    missing = [target for target in asked.values() if find(target) is None]
    if not missing:
        return
    # No compiler, or no place in the cache.
    with suppress(UnsupportedError, OSError):
        check_compiler()
        units = _units(missing)
        with plain_messages(), ThreadPoolExecutor(len(units)) as pool:
            list(pool.map(_build_unit, units))


def statement_of(target: SnippetTarget, program: bytes) -> Any:
    """Returns the statement of a snippet, after its setup: an object with `run()`, `loop(count)`,
    `result()`, `prepare(leaves, head)` and `backward()`. Raises `UsageError` with the compiler's
    first error, `UnsupportedError` without a compiler, and `RuntimeError` for an error of the
    setup."""
    found = find(target)
    if found is None:
        check_compiler()
        if HEADER_FAULTS:
            raise UnsupportedError(HEADER_FAULTS[0])
        with plain_messages():
            _build_unit([target])
        found = find(target)
    assert found is not None
    if found.error:
        raise UsageError(found.error)
    return module(found.unit).create(found.index, program)


def _units(targets: Sequence[SnippetTarget]) -> list[list[SnippetTarget]]:
    # On macOS a process has no affinity.
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    fitting = int(psutil.virtual_memory().available // UNIT_BYTES)
    count = max(1, min(cores, fitting, len(targets) // LEAST))
    return [list(targets[first::count]) for first in range(count)]


def _build_unit(targets: list[SnippetTarget]) -> None:
    """Compiles snippets in one unit, or if that fails in several, until each one either is compiled
    or has failed alone."""
    name = unit_name(targets)
    try:
        made = compile_unit(name, unit_text(targets), unit_file(name))
    except CompileError as error:
        faults = read_faults(str(error))
    else:
        MODULES[name] = made
        for index, target in enumerate(targets):
            _write(_file(target), Cached(unit=name, index=index))
        return
    if len(targets) == 1:
        (target,) = targets
        if not faults.by_key:
            _check_headers(faults)
        message = faults.by_key.get(key_of(target), f"C++: {faults.first}")
        _write(_file(target), Cached(error=message))
        return
    for part in _parts(targets, faults):
        _build_unit(part)


def _parts(targets: list[SnippetTarget], faults: Faults) -> list[list[SnippetTarget]]:
    """Returns a unit's two parts: snippets without an error and with one, or else its halves."""
    guilty = [target for target in targets if key_of(target) in faults.by_key]
    innocent = [target for target in targets if key_of(target) not in faults.by_key]
    if guilty and innocent:
        return [innocent, guilty]
    middle = len(targets) // 2
    return [targets[:middle], targets[middle:]]


def _check_headers(faults: Faults) -> None:
    """Raises `UnsupportedError` if the compiler or its headers are at fault, such as Python's."""
    name = unit_name(())
    try:
        compile_unit(name, unit_text(()), unit_file(name))
    except CompileError as error:
        reason = read_faults(str(error)).first
        HEADER_FAULTS.append(
            f"no snippet of C++ can be compiled here: {reason}; install the headers of Python "
            "(apt install python3-dev), or name another compiler in CXX"
        )
        raise UnsupportedError(HEADER_FAULTS[0]) from None
