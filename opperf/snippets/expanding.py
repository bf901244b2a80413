"""Names of definitions, from nested dicts, and every concrete snippet of each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, Union

from opperf.errors import UsageError
from opperf.snippets.definitions import (
    MODEL,
    Grouped,
    Language,
    Place,
    Signature,
    TimerArgs,
    python_call,
)

Labels = tuple[str, ...]

Definition = Union[TimerArgs, Grouped]

Benchmarks = Mapping[Any, Any]
"""Definitions by label, a text or a tuple of texts; a value may be such a dict itself."""


def flatten(benchmarks: Benchmarks) -> dict[Labels, Definition]:
    """Returns the definitions by all their labels, from the outermost dict to the innermost. Raises
    `UsageError` for two definitions of one label, and for anything else than a definition."""
    found: dict[Labels, Definition] = {}
    for labels, definition in _walk((), benchmarks):
        earlier = found.get(labels)
        if earlier is not None:
            raise UsageError(
                f"{definition.place}: a second definition of {'/'.join(labels)}; the first one is "
                f"at {earlier.place}"
            )
        found[labels] = definition
    return found


def _walk(outer: Labels, value: Any) -> Iterator[tuple[Labels, Definition]]:
    if isinstance(value, (TimerArgs, Grouped)):
        if not outer:
            raise UsageError(f"{value.place}: a definition without a label; put it in a dict")
        yield outer, value
        return
    if not isinstance(value, Mapping):
        where = f" under {'/'.join(outer)}" if outer else ""
        raise UsageError(
            f"{type(value).__name__}{where} is neither a definition nor a dict of definitions"
        )
    for label, inner in value.items():
        yield from _walk((*outer, *_labels(label, outer)), inner)


def _labels(label: Any, outer: Labels) -> Labels:
    words = label if isinstance(label, tuple) else (label,)
    for word in words:
        if not (isinstance(word, str) or word is None):
            where = f" under {'/'.join(outer)}" if outer else ""
            raise UsageError(f"the label {word!r}{where} is no text; a label is a text or a tuple")
    return tuple(word for word in words if word)


Mode = Literal["eager", "script"]

MODES: dict[Mode, str] = {"eager": "Eager", "script": "TorchScript"}
PASSES = {False: "Forward", True: "Forward+Backward"}
LANGUAGES: dict[Language, str] = {"python": "Python", "c++": "C++"}
"""Labels of concrete snippets, by what they stand for: whether there is a backward pass."""


class Snippet(NamedTuple):
    """One statement to measure."""

    labels: Labels
    """Those of its definition, then its mode, passes and language, as far as it has them."""
    language: Language
    source: str
    setup: str
    global_setup: str
    model: str
    mode: Mode
    output: str
    has_backward: bool
    threads: int
    place: Place


def expand(benchmarks: Benchmarks) -> tuple[Snippet, ...]:
    """Returns the concrete snippets of definitions. Raises what `flatten` raises."""
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
    return "\n".join(text.strip("\n") for text in texts if text.strip())
