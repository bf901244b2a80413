"""The macros of an argument, which stand for several arguments.

`__range__`, `__geometric__` and `__list__` name the attributes that have several values: of numbers
[least, most, step], [least, most, factor] or a list; of a shape the same for each of its extents;
of anything else, such as strings and dtypes, a list. `__copy__` copies an extent from another
argument, once the values are chosen: `[{"shape": [0, [1, 2]]}]` makes extent 0 that of extent 2
of the argument at position 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from opperf.errors import UsageError
from opperf.sources.param.schema import LISTS, NUMBERS, Raw, Spec, type_of

COPY = "__copy__"

MAX_CASES = 1_000_000
"""Largest number of cases that macros may make: more than a week's measurement, and likely a step
that was forgotten."""

Number = int | float


def _arithmetic(least: Number, most: Number, step: Number, place: str) -> Sequence[Number]:
    if step <= 0:
        raise UsageError(f"{place}: the step {step} is not positive")
    if isinstance(least, int) and isinstance(most, int) and isinstance(step, int):
        return range(least, most + 1, step)
    # Decimals, so that [0.1, 0.3, 0.1] has its end and no 0.30000000000000004.
    first, last, width = (Decimal(str(number)) for number in (least, most, step))
    count = int((last - first) / width) + 1 if last >= first else 0
    _check_count(count, place)
    return [float(first + i * width) for i in range(count)]


def _geometric(least: Number, most: Number, factor: Number, place: str) -> Sequence[Number]:
    if factor <= 1 or least <= 0:
        raise UsageError(
            f"{place}: a geometric range has a least value above 0 and a factor above 1"
        )
    whole = all(isinstance(number, int) for number in (least, most, factor))
    count = int(math.log(most / least) / math.log(factor) + 1e-9) + 1 if most >= least else 0
    powers = [least * factor**i for i in range(count)]
    return powers if whole else [float(power) for power in powers]


RANGES: Mapping[str, Callable[[Number, Number, Number, str], Sequence[Number]]] = {
    "__range__": _arithmetic,
    "__geometric__": _geometric,
}
"""Macros of three numbers."""

MACROS = (*RANGES, "__list__")
"""Macros that choose values."""

NAMES = {"__range__": "[least, most, step]", "__geometric__": "[least, most, factor]"}


def _check_count(count: int, place: str) -> None:
    if count > MAX_CASES:
        raise UsageError(f"{place}: {count:,} values or cases, of at most {MAX_CASES:,}")


def _numbers(macro: str, value: object, place: str) -> Sequence[Any]:
    """Returns the numbers that a macro stands for. Raises `UsageError`."""
    if macro not in RANGES:
        return _listed(value, place)
    if (
        not isinstance(value, list)
        or len(value) != 3
        or not all(
            isinstance(number, (int, float)) and not isinstance(number, bool) for number in value
        )
    ):
        raise UsageError(f"{place}: {macro} takes {NAMES[macro]}, not {value!r}")
    least, most, step = value
    found = RANGES[macro](least, most, step, place)
    if not found:
        raise UsageError(f"{place}: {value!r} is an empty range")
    _check_count(len(found), place)
    return found


def _listed(value: object, place: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise UsageError(f"{place}: expected a list of the values to take, not {value!r}")
    return value


def has_macro(argument: object) -> bool:
    """Whether an argument, or one in it, has a macro."""
    if isinstance(argument, Mapping):
        return any(name in argument for name in (*MACROS, COPY)) or any(
            map(has_macro, argument.values())
        )
    return isinstance(argument, list) and any(map(has_macro, argument))


def expand(argument: Raw, place: str) -> list[Raw]:
    """Returns the arguments that one with macros stands for; `__copy__` stays. The last attribute
    changes fastest. Raises `UsageError` with the key path."""
    kind = type_of(argument, place)
    chosen = _chosen(argument, place)
    attributes = {name: value for name, value in argument.items() if name not in MACROS}
    values = [
        _values(kind, name, value, chosen.get(name, ""), f"{place}.{name}")
        for name, value in attributes.items()
    ]
    _check_count(math.prod(map(len, values)), place)
    return [
        dict(zip(attributes, combination, strict=True))
        for combination in itertools.product(*values)
    ]


def _chosen(argument: Raw, place: str) -> dict[str, str]:
    """Returns the macro of each attribute that has several values. Raises `UsageError`."""
    chosen: dict[str, str] = {}
    for macro in MACROS:
        named = argument.get(macro, [])
        if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
            raise UsageError(f'{place}.{macro}: expected a list of attributes, as ["value"]')
        for name in named:
            if name not in argument or name == "type":
                raise UsageError(f"{place}.{macro}: the argument has no values of {name!r}")
            if name in chosen:
                raise UsageError(f"{place}: both {chosen[name]} and {macro} name {name!r}")
            chosen[name] = macro
    return chosen


def _values(kind: str, name: str, value: Any, macro: str, place: str) -> Sequence[Any]:
    """Returns the values of an attribute. Raises `UsageError`."""
    if kind in LISTS and name == "value" and macro in ("", "__range__"):
        return _elements(value, place)
    if not macro:
        return [value]
    if name == "shape":
        extents = [
            _numbers(macro, extent, f"{place}[{i}]") if isinstance(extent, list) else [extent]
            for i, extent in enumerate(_listed(value, place))
        ]
        _check_count(math.prod(map(len, extents)), place)
        return [list(extents_) for extents_ in itertools.product(*extents)]
    if kind in NUMBERS and name == "value":
        return _numbers(macro, value, place)
    if macro == "__geometric__":
        raise UsageError(f"{place}: __geometric__ is for numbers and shapes; use __list__")
    return _listed(value, place)


def _elements(value: object, place: str) -> Sequence[Any]:
    """Returns the lists that a list of arguments stands for."""
    if not isinstance(value, list):
        # Its reader says what is wrong with it.
        return [value]
    elements = [
        expand(argument, f"{place}[{i}]") if isinstance(argument, dict) else [argument]
        for i, argument in enumerate(value)
    ]
    _check_count(math.prod(map(len, elements)), place)
    return [list(elements_) for elements_ in itertools.product(*elements)]


def expand_spec(spec: Spec, place: str) -> Iterator[Spec]:
    """Yields the specs that one with macros stands for, the last argument changing fastest. Raises
    `UsageError` with the key path."""
    unnamed = [expand(argument, f"{place}.args[{i}]") for i, argument in enumerate(spec.args)]
    named = [expand(argument, f"{place}.kwargs.{name}") for name, argument in spec.kwargs.items()]
    _check_count(math.prod(len(values) for values in (*unnamed, *named)), place)
    for values in itertools.product(*unnamed, *named):
        arguments = [dict(combination) for combination in values]
        args = arguments[: len(unnamed)]
        kwargs = dict(zip(spec.kwargs, arguments[len(unnamed) :], strict=True))
        for i, argument in enumerate(args):
            _copy(argument, args, f"{place}.args[{i}]")
        for name, argument in kwargs.items():
            _copy(argument, args, f"{place}.kwargs.{name}")
        yield Spec(args=args, kwargs=kwargs, count=spec.count)


def _copy(argument: Raw, args: Sequence[Raw], place: str) -> None:
    """Gives an argument the extents that its `__copy__` names, and removes that. Raises
    `UsageError`."""
    place = f"{place}.{COPY}"
    for copies in argument.pop(COPY, []):
        if not isinstance(copies, dict):
            raise UsageError(f"{place}: expected [{{ATTRIBUTE: [INDEX, [ARGUMENT, INDEX]]}}]")
        for name, places in copies.items():
            match places:
                case [int(to), [int(source), int(at)]]:
                    pass
                case _:
                    raise UsageError(f"{place}: expected [INDEX, [ARGUMENT, INDEX]] of {name!r}")
            try:
                taken = args[source][name][at]
                # Arguments of other cases have the same list.
                argument[name] = list(argument[name])
                argument[name][to] = taken
            except (IndexError, KeyError, TypeError):
                raise UsageError(
                    f"{place}: args[{source}] has no element {at} of {name!r}, or this argument no "
                    f"element {to}"
                ) from None
