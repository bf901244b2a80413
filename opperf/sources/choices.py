"""What a framework, its build and this machine offer for settings and for the choice of operators:
the lists that users see, and the errors that have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from opperf import profilers
from opperf.dtypes import DTYPES
from opperf.errors import DeviceError, OpperfError, UsageError, suggest, unknown
from opperf.frameworks import Framework
from opperf.model import Operator

CHOICES: dict[str, Callable[[Framework], Iterable[str]]] = {
    "device": lambda framework: framework.devices(),
    "dtype": lambda framework: framework.dtypes,
    "profiler": profilers.offered,
    "mode": lambda framework: framework.modes,
    "namespace": lambda framework: namespaces(framework.operators()),
    "category": lambda framework: categories(framework.operators()),
}
"""The words a framework has for a setting or a group of operators; the first of a setting's is its
default, but for the dtype."""

LISTED = ("dtype", "profiler", "mode")
"""Settings whose values are all in the list. Devices are read by the framework, as `gpu` for
`gpu(0)`."""


def namespaces(operators: Iterable[Operator]) -> list[str]:
    """The namespaces that any of the operators is in, sorted."""
    return sorted({space for operator in operators for space in operator.namespaces})


def categories(operators: Iterable[Operator]) -> list[str]:
    """The categories that any of the operators is in, sorted."""
    return sorted({operator.category for operator in operators} - {""})


def choices(framework: Framework) -> dict[str, tuple[str, ...]]:
    """Every list of a framework, by setting or group."""
    return {name: tuple(listed(framework)) for name, listed in CHOICES.items()}


def parse_device(framework: Framework, text: str) -> str:
    """The canonical name of a device.

    Raises `UsageError` with the framework's devices where it is no device's name, and `DeviceError`
    where this build or machine does not have it.
    """
    try:
        return framework.parse_device(text)
    except DeviceError:
        raise
    except UsageError as error:
        raise unknown("device", text, framework.devices(), framework.name) from error


def refusal(framework: Framework, name: str, value: Any) -> OpperfError | None:
    """Why the framework, build or machine does not have a setting's value; None if it does."""
    if name == "device":
        try:
            parse_device(framework, value)
        except DeviceError as error:
            return error
        return None
    if name not in LISTED:
        return None
    known = tuple(CHOICES[name](framework))
    return None if value in known else unknown(name, value, known, framework.name)


def is_misspelt(framework: Framework, name: str, value: Any) -> bool:
    """Whether a value that a framework lacks is a slip of the keyboard, and not one that another
    framework may have: no dtype at all, or nearly a word that this framework has."""
    if name == "dtype":
        return value not in DTYPES
    return name in LISTED and bool(suggest(value, CHOICES[name](framework)))
