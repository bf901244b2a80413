"""Concrete snippets: every combination of a definition's languages, modes, passes and threads."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Literal, NamedTuple

from opperf.snippets.definitions import MODEL, Grouped, Language, TimerArgs, python_call
from opperf.snippets.labels import Benchmarks, Definition, Labels, flatten
from opperf.snippets.places import Place
from opperf.snippets.signatures import Signature

Mode = Literal["eager", "script"]

MODES: dict[Mode, str] = {"eager": "Eager", "script": "TorchScript"}
PASSES = {False: "Forward", True: "Forward+Backward"}
LANGUAGES: dict[Language, str] = {"python": "Python", "c++": "C++"}
"""Labels of concrete snippets, by what they stand for: whether there is a backward pass."""


class Snippet(NamedTuple):
    """One statement to measure."""

    labels: Labels
    """Those of its definition, then its mode, passes and language; those of a `TimerArgs` have its
    language alone."""
    language: Language
    source: str
    setup: str
    global_setup: str
    """C++ in front of all functions."""
    model: str
    """Python that makes the `model` of which TorchScript makes a program; empty without one."""
    mode: Mode
    output: str
    """The variable that holds the result; empty if none is named."""
    has_backward: bool
    threads: int
    place: Place


def expand(benchmarks: Benchmarks) -> tuple[Snippet, ...]:
    """Returns the concrete snippets of definitions, in their order.

    Raises `UsageError` for two definitions of one label, and for anything else than a definition.
    """
    return tuple(
        snippet
        for labels, definition in flatten(benchmarks).items()
        for snippet in _expand_one(labels, definition)
    )


def _expand_one(labels: Labels, definition: Definition) -> Iterator[Snippet]:
    if isinstance(definition, TimerArgs):
        yield Snippet(
            labels=(*labels, LANGUAGES[definition.language]),
            language=definition.language,
            source=definition.stmt,
            setup=definition.setup,
            global_setup=definition.global_setup,
            model="",
            mode="eager",
            output="",
            has_backward=False,
            threads=definition.num_threads,
            place=definition.place,
        )
        return
    modes: tuple[Mode, ...] = ("eager", "script") if definition.torchscript else ("eager",)
    passes = (False, True) if definition.autograd else (False,)
    languages: list[Language] = []
    if definition.py_stmt:
        languages.append("python")
    if definition.cpp_stmt:
        languages.append("c++")
    for mode, has_backward, language, threads in itertools.product(
        modes, passes, languages, definition.num_threads
    ):
        source, setup, model = _CODE[mode, language](definition)
        yield Snippet(
            labels=(*labels, MODES[mode], PASSES[has_backward], LANGUAGES[language]),
            language=language,
            source=source,
            setup=setup,
            global_setup=definition.setup.global_setup if language == "c++" else "",
            model=model,
            mode=mode,
            output=definition.signature.output if definition.signature else "",
            has_backward=has_backward,
            threads=threads,
            place=definition.place,
        )


class _Code(NamedTuple):
    source: str
    setup: str
    model: str = ""


def _eager_python(group: Grouped) -> _Code:
    model = group.py_model if group.is_module else ""
    return _Code(group.py_stmt, _lines(group.setup.py_setup, model))


def _eager_cpp(group: Grouped) -> _Code:
    return _Code(group.cpp_stmt, _lines(group.setup.cpp_setup, group.cpp_model))


def _script_python(group: Grouped) -> _Code:
    assert group.signature is not None
    return _Code(python_call(group.signature), group.setup.py_setup, group.py_model)


def _script_cpp(group: Grouped) -> _Code:
    assert group.signature is not None
    # A module's constructor may use variables of the setup; a function has parameters.
    before = group.setup.py_setup if group.is_module else ""
    return _Code(
        _program_call(group.signature), group.setup.cpp_setup, _lines(before, group.py_model)
    )


_CODE = {
    ("eager", "python"): _eager_python,
    ("eager", "c++"): _eager_cpp,
    ("script", "python"): _script_python,
    ("script", "c++"): _script_cpp,
}
"""Functions that make the code of a group's snippets, by mode and language."""


def _program_call(signature: Signature) -> str:
    """Returns the call of a TorchScript program in C++, whose result is an `IValue`."""
    assignment = f"auto {signature.output} = " if signature.output else ""
    return f"{assignment}{MODEL}.forward({{{', '.join(signature.inputs)}}});"


def _lines(*texts: str) -> str:
    """Returns texts one after another, without empty ones."""
    return "\n".join(text.strip("\n") for text in texts if text.strip())
