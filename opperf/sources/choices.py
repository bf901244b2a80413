"""The values of settings and groups of operators that a framework, its build and this machine have,
for lists and for errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from opperf.dtypes import DTYPES
from opperf.errors import DeviceError, OpperfError, UnsupportedError, UsageError, suggest, unknown
from opperf.frameworks import Framework
from opperf.instruments import profilers
from opperf.metrics import alone_instruments
from opperf.model import DEFAULTS, Operator

CHOICES: dict[str, Callable[[Framework], Iterable[str]]] = {
    "device": lambda framework: framework.devices(),
    "dtype": lambda framework: framework.dtypes,
    "profiler": lambda framework: (*profilers.find_profilers(framework), *alone_instruments()),
    "mode": lambda framework: [
        mode for mode in framework.modes.names if not framework.modes.obstacle(mode)
    ],
    "mode with a back end": lambda framework: [
        f"{mode}:{name}"
        for mode in framework.modes.names
        for name in framework.modes.backends(mode)
    ],
    "autocast": lambda framework: (DEFAULTS["autocast"], *framework.modes.autocast_dtypes),
    "memory_format": lambda framework: (
        DEFAULTS["memory_format"],
        *framework.arrays.memory_formats,
    ),
    **{
        kind: lambda framework, kind=kind: groups(kind, framework.operators())  # type: ignore[misc]
        for kind in ("namespace", "category", "tag", "variant")
    },
    "missing": lambda framework: framework.build.absent_names(),
}
"""A framework's values of a setting or a group of operators, and what this version of it lacks. The
first one of a setting is its default, except for the dtype."""

LISTED = ("dtype", "profiler", "mode", "autocast", "memory_format")
"""Settings whose values are all in the list. Devices are parsed by the framework, as they have
short forms: `gpu` for `gpu(0)`."""


GROUPS: dict[str, Callable[[Operator], Iterable[str]]] = {
    "category": lambda operator: filter(None, (operator.category,)),
    "namespace": lambda operator: operator.namespaces,
    "tag": lambda operator: operator.tags,
    "variant": lambda operator: operator.variants,
}
"""Groups that an operator is in, by the kind of group, which is that of the option."""


def groups(kind: str, operators: Iterable[Operator]) -> list[str]:
    """Returns the groups of a kind that operators are in, sorted."""
    return sorted({name for operator in operators for name in GROUPS[kind](operator)})


def choices(framework: Framework) -> dict[str, tuple[str, ...]]:
    """Returns every list of a framework that is not empty, by setting or group."""
    found = {name: tuple(listed(framework)) for name, listed in CHOICES.items()}
    return {name: words for name, words in found.items() if words}


def parse_device(framework: Framework, text: str) -> str:
    """Returns the canonical name of a device.

    Raises `UsageError`, with the framework's devices, if it is no device's name, and `DeviceError`
    if this build or machine does not have it.
    """
    try:
        return framework.parse_device(text)
    except DeviceError:
        raise
    except UsageError as error:
        raise unknown("device", text, framework.devices(), framework.name) from error


def refusal(framework: Framework, name: str, value: Any) -> OpperfError | None:
    """Returns the error for a value that the framework, build or machine does not support."""
    try:
        if name == "device":
            parse_device(framework, value)
        elif name == "profiler":
            alone = tuple(alone_instruments())
            if value not in alone:
                profilers.find_profiler(value, framework, alone)
        elif name == "options":
            _check_options(framework, value)
        elif name == "mode":
            return mode_refusal(framework, value)
        elif name in LISTED and value not in (known := tuple(CHOICES[name](framework))):
            return unknown(name.replace("_", " "), value, known, framework.name)
    except (DeviceError, UsageError) as error:
        return error
    return None


def mode_refusal(framework: Framework, mode: str) -> OpperfError | None:
    """Returns the error for a mode, with its back end behind a colon, that the framework or its
    environment lacks; None if it has it. Looks up back ends only where one is named."""
    base, colon, backend = mode.partition(":")
    if base not in framework.modes.names:
        return unknown("mode", mode, CHOICES["mode"](framework), framework.name)
    if colon:
        known = framework.modes.backends(base)
        if not known:
            return UsageError(f"mode {mode}: {base} of {framework.name} has no back ends; omit it")
        if backend not in known:
            return unknown("back end", backend, known, f"mode {base} of {framework.name}")
    lacking = framework.modes.obstacle(mode)
    return UnsupportedError(lacking) if lacking else None


def _check_options(framework: Framework, options: Mapping[str, str]) -> None:
    for option, text in options.items():
        try:
            framework.processes.option(option, text)
        except UsageError as error:
            # A text that seems to have several values.
            parts = text.split(",")
            advice = f"; several values: {option}={'|'.join(parts)}" if parts[1:] else ""
            raise UsageError(f"{error}{advice}") from error


def is_misspelt(framework: Framework, name: str, value: Any) -> bool:
    """Whether an unsupported value is a typing error, not one that another framework may have: it
    is an option, no dtype, or close to one of this framework's values."""
    if name == "options":
        return True
    if name == "dtype":
        return value not in DTYPES
    if name == "mode" and str(value).partition(":")[0] in framework.modes.names:
        # Of a back end, or of a package that is missing.
        return True
    return name in LISTED and bool(suggest(value, CHOICES[name](framework)))
