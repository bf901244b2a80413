"""Where PyTorch's repository has its operators: declared in `native_functions.yaml` with the
functions that implement them, and their gradients in `derivatives.yaml`.

Both are read line by line: the numbers of the lines are needed, and PyYAML, which has none for
plain values, would be a dependency of this alone."""

from __future__ import annotations

import importlib.util
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from opperf.frameworks.kernel_sources import Entry, KernelSources, Names

FOLDERS = ("aten/src/ATen/native",)

NATIVE = "aten/src/ATen/native/native_functions.yaml"

DERIVATIVES = "tools/autograd/derivatives.yaml"

PACKAGED = {
    NATIVE: "packaged/ATen/native/native_functions.yaml",
    DERIVATIVES: "packaged/autograd/derivatives.yaml",
}
"""Copies in the package torchgen, which PyTorch's wheels have."""

INTERNAL = r"_"
"""How the operators begin that public ones call."""

BEGINS = re.compile(r"- (?:func|name): ([\w.]+)\(")

OUT = re.compile(r"\*, .*\(\w!\) ")
"""An argument that is written to, among those by keyword."""

KERNEL = re.compile(r"    [\w, ]+: ([\w:]+)")

DELEGATE = re.compile(r"  structured_delegate: ([\w.]+)")

WORD = re.compile(r"[A-Za-z_]\w*")


class Declared(NamedTuple):
    """An entry of either file."""

    name: str
    first: int
    last: int
    kernels: Names = frozenset()
    delegate: str = ""
    words: Names = frozenset()
    is_out: bool = False
    """Whether it writes to arguments that it is given by name."""

    @property
    def base(self) -> str:
        """The name without its overload."""
        return self.name.partition(".")[0]


def read_kernel_sources(repository: Path) -> KernelSources | None:
    """Returns where the operators of PyTorch's repository are; None for another repository."""
    if not (repository / FOLDERS[0]).is_dir():
        return None
    native = _declared(repository, NATIVE)
    derivatives = _declared(repository, DERIVATIVES)
    functional = _functional(native)
    kernels: dict[str, set[str]] = defaultdict(set)
    for entry in native:
        for kernel in entry.kernels or {entry.base + ("_out" if entry.is_out else "")}:
            kernels[kernel] |= functional[entry.name]
        if entry.delegate:
            # The name of its shape function.
            kernels[entry.name.replace(".", "_")] |= functional[entry.name]
    gradients: dict[str, set[str]] = defaultdict(set)
    backward = {entry.base for entry in native if entry.base.endswith("_backward")}
    for entry in derivatives:
        for word in entry.words & backward:
            gradients[word] |= functional.get(entry.name, {entry.name})
    return KernelSources(
        folders=FOLDERS,
        kernels={name: frozenset(found) for name, found in kernels.items()},
        through=INTERNAL,
        declarations={
            file: tuple(
                Entry(entry.first, entry.last, frozenset(functional.get(entry.name, {entry.name})))
                for entry in entries
            )
            for file, entries in ((NATIVE, native), (DERIVATIVES, derivatives))
            if (repository / file).is_file()
        },
        gradients={name: frozenset(found) for name, found in gradients.items()},
    )


def _declared(repository: Path, file: str) -> list[Declared]:
    """Returns the entries of a file of the repository, or where it has none of its copy in the
    wheel; none without both."""
    path = repository / file
    if not path.is_file():
        spec = importlib.util.find_spec("torchgen")
        if spec is None or spec.origin is None:
            return []
        path = Path(spec.origin).parent / PACKAGED[file]
        if not path.is_file():
            return []
    return list(_entries(path.read_text(encoding="utf-8", errors="replace").split("\n")))


def _entries(lines: list[str]) -> Iterator[Declared]:
    starts = [number for number, line in enumerate(lines) if BEGINS.match(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        own = lines[start:end]
        while not own[-1].strip() or own[-1].startswith("#"):
            own.pop()
        name = BEGINS.match(own[0])
        assert name is not None
        delegates = [found[1] for line in own if (found := DELEGATE.match(line))]
        kernels = {found[1].rpartition("::")[2] for line in own if (found := KERNEL.match(line))}
        words = {word for line in own[1:] for word in WORD.findall(line)}
        yield Declared(
            name[1],
            start + 1,
            start + len(own),
            frozenset(kernels),
            "".join(delegates[:1]),
            frozenset(words),
            is_out=OUT.search(own[0]) is not None,
        )


def _functional(native: list[Declared]) -> dict[str, set[str]]:
    """Returns, by entry, the operators that compute the same and write to none of their arguments:
    those with the same structured kernel, or else of the same name."""
    plain = [entry for entry in native if not entry.is_out and not entry.base.endswith("_")]
    of_base: dict[str, set[str]] = defaultdict(set)
    of_delegate: dict[str, set[str]] = defaultdict(set)
    for entry in plain:
        of_base[entry.base].add(entry.name)
        if entry.delegate:
            of_delegate[entry.delegate].add(entry.name)
    plain_names = {entry.name for entry in plain}
    found: dict[str, set[str]] = {}
    for entry in native:
        base, _, overload = entry.name.partition(".")
        # `foo.dim_out` and `foo_.dim` are forms of `foo.dim`.
        overload = re.sub(r"_?(?:out|grad_input)$", "", overload)
        usual = f"{base.removesuffix('_')}.{overload}".removesuffix(".")
        delegate = entry.delegate or entry.name
        if entry.name in plain_names:
            found[entry.name] = {entry.name}
        elif delegate in of_delegate:
            found[entry.name] = of_delegate[delegate]
        elif usual in plain_names:
            found[entry.name] = {usual}
        else:
            found[entry.name] = of_base.get(base.removesuffix("_"), {entry.name})
    return found
