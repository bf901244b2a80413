"""Settings in reports: those in which cases differ, and what cases have in common beside them."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from opperf.model import (
    DECLARED,
    DEFAULTS,
    Case,
    DType,
    Interpreter,
    ModelTarget,
    ScriptTarget,
    TensorSpec,
    display_argument,
    display_arguments,
    identity_of,
)
from opperf.model import Mapping as Entries
from opperf.model.cases import SettingValues
from opperf.results.text import inputs_text

OWN = "own"
"""Stands for the dtype of a case's settings."""


def dtypes_of(cases: Iterable[Case]) -> frozenset[str]:
    """Returns the dtypes of the settings of some cases."""
    return frozenset(case.settings.dtype for case in cases)


def alike_text(case: Case, dtypes: Collection[str]) -> str:
    """Returns the inputs of a case as text, without what follows from its settings."""
    return inputs_text(neutral(case, dtypes))


def neutral(case: Case, dtypes: Collection[str]) -> Case:
    """Returns a case that is the same for all of the `dtypes`, and for all memory formats. A tensor
    that always has one of these dtypes has it as its own in one of the cases."""
    has_default_format = case.settings.memory_format == DEFAULTS["memory_format"]

    def without_settings(value: Any) -> Any:
        match value:
            case TensorSpec():
                return msgspec.structs.replace(
                    value,
                    dtype=OWN if value.dtype in dtypes else value.dtype,
                    fill=msgspec.structs.replace(value.fill, dtype=""),
                    memory_format=value.memory_format if has_default_format else "",
                )
            case tuple():
                return tuple(map(without_settings, value))
            case Entries(entries=entries):
                return Entries({name: without_settings(one) for name, one in entries.items()})
            case DType(name=name) if name in dtypes:
                return DType(OWN)
            case str() if value in dtypes:
                return OWN
        return value

    arguments = {name: without_settings(value) for name, value in case.arguments.items()}
    settings = msgspec.structs.replace(case.settings, dtype=OWN)
    return msgspec.structs.replace(case, arguments=arguments, settings=settings)


OPERATOR = "operator"

NOUNS: dict[type, str] = {ModelTarget: "model", ScriptTarget: "program"}
"""Words for targets that are no operators."""


def noun_of(cases: Iterable[Case]) -> str:
    """Returns what cases are of, in one word."""
    kinds = {type(case.target) for case in cases}
    return NOUNS.get(kinds.pop(), OPERATOR) if len(kinds) == 1 else OPERATOR


SELF_EXPLANATORY = ("device", "dtype")
"""Settings whose values need no name beside them."""


def differing_settings(cases: Iterable[Case]) -> tuple[str, ...]:
    """Returns the settings in which cases of the same name, shapes and values differ."""
    listed = list(cases)
    dtypes = dtypes_of(listed)
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for case in listed:
        inputs = str(display_arguments(neutral(case, dtypes)))
        alike.setdefault((case.label, inputs), []).append(identity_of(case.settings))
    found = {
        name
        for settings in alike.values()
        for other in settings[1:]
        for name, value in other.items()
        if value != settings[0][name]
    }
    return tuple(name for name in DECLARED if name in found)


def settings_text(case: Case, names: Iterable[str]) -> str:
    """Returns the case's values of these settings on one line: `float16, threads 2`."""
    settings = identity_of(case.settings)
    return _text({name: settings[name] for name in names})


def changed_settings_text(settings: SettingValues, defaults: SettingValues = DEFAULTS) -> str:
    """Returns those of a case's settings that are not at these defaults, on one line. It is the
    same whatever other cases there are, so that names of cases may contain it."""
    return _text({name: value for name, value in settings.items() if value != defaults[name]})


def _text(settings: SettingValues) -> str:
    return ", ".join(
        ("" if name in SELF_EXPLANATORY else f"{name} ") + DECLARED[name].text(value)
        for name, value in settings.items()
    )


def needed_settings(settings: SettingValues, devices: Sequence[str]) -> dict[str, Any]:
    """Returns the settings that need options; the first of the `devices` is the default."""
    defaults = {**DEFAULTS, "device": next(iter(devices), DEFAULTS["device"])}
    return {name: value for name, value in settings.items() if value != defaults[name]}


def option_words(settings: SettingValues) -> list[str]:
    """Returns the words of a command line that set these settings."""
    return [word for name, value in settings.items() for word in DECLARED[name].arguments(value)]


PROFILER = "python"
"""The profiler of experiments where none is named: a step is what a user waits for."""

CHOSEN = ("max_time_s", "python", "profiler")
"""Settings that the plan may choose, or whose text is another than the value."""


def command_of_case(
    case: Case, interpreters: Iterable[Interpreter] = (), words: Sequence[str] = ()
) -> str:
    """Returns the command that measures a case alone. `words` are those of a run's command, for a
    case that has no name of its own."""
    target, settings = case.target, case.settings
    named = _word_of(target) if isinstance(target, ModelTarget) else case.pattern
    found = ["opperf", "experiment", *([named] if named else words)]
    found += ["--framework", target.framework]
    if isinstance(target, ModelTarget):
        if target.size != "default":
            found += ["--size", target.size]
        if target.batch_size is not None:
            found += ["--batch-size", str(target.batch_size)]
        if target.folder:
            found += [f"--{target.suite}", target.folder]
    changed = {
        name: value
        for name in DECLARED
        if name not in CHOSEN and (value := getattr(settings, name)) != DEFAULTS[name]
    }
    found += option_words(changed)
    if settings.profiler != PROFILER:
        found += [DECLARED["profiler"].option, settings.profiler]
    for interpreter in interpreters:
        if interpreter.label == settings.python and interpreter.framework in ("", target.framework):
            found += interpreter.words
    return shlex.join([*found, "--id", case.id])


def _word_of(target: ModelTarget) -> str:
    if target.suite:
        return f"{target.suite}:{target.name}"
    place = f"{target.file}:{target.name}" if target.file else target.name
    shown = {name: display_argument(value) for name, value in target.arguments.items()}
    given = [f"{v!r}" if name.isdecimal() else f"{name}={v!r}" for name, v in shown.items()]
    return f"{place}({', '.join(given)})" if given else place
