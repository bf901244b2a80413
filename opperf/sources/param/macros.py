"""The macros of an argument, which stand for several arguments.

`__range__`, `__geometric__` and `__list__` name the attributes that have several values: of numbers
[least, most, step], [least, most, factor] or a list; of a shape the same for each of its extents;
of anything else, such as strings and dtypes, a list. `__copy__` copies an extent from another
argument, once the values are chosen: `[{"shape": [0, [1, 2]]}]` makes extent 0 that of extent 2
of the argument at position 1.

Targets of the operators of a configuration by their names, and FBGEMM's tables of embeddings.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Any

from opperf.errors import UsageError, suggest
from opperf.formats.param.arguments import Arguments, values_of
from opperf.formats.param.schema import LISTS, NUMBERS, Raw, Spec, convert, type_of
from opperf.frameworks import available, objects_of
from opperf.model import (
    Argument,
    CallableTarget,
    Fill,
    ObjectTarget,
    OperatorTarget,
    Target,
    TensorSpec,
)
from opperf.plurals import pluralize
from opperf.rules.values import below
from opperf.sources.param.registering import DATA_GENERATORS, ITERATORS, own_operators

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
    """Yields the specs that one with macros stands for, the last argument fastest."""
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
    """Gives an argument the extents that its `__copy__` names, and removes that."""
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


OPERATOR = "SplitTableBatchedEmbeddingBagsCodegen"

OF_BUILD = (0, 1, 2, 4, 5)
"""Positions of the build's arguments that inputs depend on: tables, rows, columns, whether samples
have weights, precision."""

GIVEN = 2
"""Arguments of an input: the batch size, and the number of indices that are pooled."""


def with_build(specs: Sequence[Raw], build: Spec | None, place: str) -> Iterable[tuple[str, Spec]]:
    """Yields inputs with what they need of the build. Raises `UsageError`; one that is of a single
    input is raised for it alone by `specs_of`."""
    if build is None or len(build.args) <= OF_BUILD[-1]:
        raise UsageError(f"{place}: the `build` has at least {OF_BUILD[-1] + 1} `args`")
    tables, rows, columns, weighted, precision = (build.args[i] for i in OF_BUILD)
    for i, raw in enumerate(specs):
        here = f"{place}[{i}]"
        for number, made in enumerate(expand_spec(convert(raw, Spec, here), here)):
            if len(made.args) != GIVEN:
                raise UsageError(f"{here}.args: expected the batch size and the pooling factor")
            args = [tables, rows, columns, *made.args, weighted, precision]
            yield f"{i}_{number}", Spec(args=args)


def indices(spec: Spec, place: str) -> Arguments:
    """Returns indices of all tables, the offsets of their bags, and weights of the indices or None.

    All indices are rows of the smallest table, as they are of one tensor. Raises `UsageError`.
    """
    unnamed, _ = values_of(spec, place)
    if len(unnamed) != len(OF_BUILD) + GIVEN:
        raise UsageError(f"{place}: expected args that the iterator of {OPERATOR} makes")
    tables, rows, _, batch, pooling, weighted, _ = unnamed
    if not isinstance(tables, int) or not isinstance(batch, int):
        raise UsageError(f"{place}: the numbers of tables and of samples are integers")
    pooled = _each(pooling, tables, f"{place}: pooling factors")
    lengths = [length for length in pooled for _ in range(batch)]
    offsets = [0, *accumulate(lengths)]
    count = offsets[-1]
    return [
        TensorSpec((count,), "int64", below(min(_each(rows, tables, f"{place}: rows")))),
        TensorSpec((len(offsets),), "int64", Fill("literal", data=offsets)),
        TensorSpec((count,)) if weighted else None,
    ], {}


def _each(value: Any, count: int, what: str) -> list[int]:
    """Returns a number of each table. Raises `UsageError`."""
    found = list(value) if isinstance(value, tuple) else [value] * count
    if len(found) != count or not all(isinstance(number, int) and number > 0 for number in found):
        tables = pluralize(count, "table")
        raise UsageError(f"{what} are a positive integer, or one for each of {tables}")
    return found


ITERATORS.add(f"{OPERATOR}InputIterator", with_build)
DATA_GENERATORS.add(f"{OPERATOR}InputDataGenerator", indices)


TORCH = "torch"

SCHEMA = re.compile(r"(?P<operator>\w+::\w+)(?:\.(?P<overload>\w+))?(?:\s*\(.*)?", re.DOTALL)
"""`aten::add.Tensor(Tensor self, ...) -> Tensor`, or only the name and the overload."""

DISPATCHED = re.compile(r"\w+::\w+")
"""`aten::add`: an operator of PyTorch's dispatcher."""

OWN = "aten::"
"""Namespace that opperf's names of PyTorch's operators omit."""

MODEL = re.compile(r"pytorch(?:\.model\.|:)(?P<name>\w+)")
"""`pytorch.model.resnet`, and the older `pytorch:alex_net`."""

MODELS = {"resnet": "resnet50", "alex_net": "alexnet"}
"""torchvision's names of PARAM's models, where they are others."""

EMBEDDINGS = (OPERATOR, f"{OPERATOR}Op")
"""PARAM's names of FBGEMM's tables of embeddings."""

EXAMPLES = ("torch.add", "torch.nn.Linear", "aten::add", "pytorch.model.resnet")
"""Names of each kind, for messages."""

Build = Mapping[str, Argument]
"""Arguments that an operator is built with, positional ones under their positions."""


def target_of(name: str, build: Build | None, place: str) -> Target:
    """Returns the target of an operator's name. `build` are the arguments of its build; None if the
    configuration has none. Raises `UsageError` for a name that can be no operator's."""
    own = own_operators(available())
    if name in own:
        framework, path = own[name]
        return _built_or_called(framework, path, build)
    if name in EMBEDDINGS:
        place_of_class = objects_of(TORCH)[OPERATOR]
        return ObjectTarget(TORCH, place_of_class, dict(build or {}))
    if DISPATCHED.fullmatch(name):
        return _dispatched(name, build, place)
    if model := MODEL.fullmatch(name):
        path = f"torchvision.models.{MODELS.get(model['name'], model['name'])}"
        return ObjectTarget(TORCH, path, dict(build or {}))
    first = name.partition(".")[0]
    if first in available() and "." in name:
        return _built_or_called(first, name, build)
    if "." in name and _is_installed(first):
        # A layer of any other package.
        return ObjectTarget(TORCH, name, dict(build or {}))
    near = [*own, *EMBEDDINGS, *EXAMPLES, *(f"{framework}." for framework in available())]
    raise UsageError(
        f"{place}: unknown operator {name!r}{suggest(name, near)}; a name is as "
        f"{', '.join(EXAMPLES)}, or one that is registered"
    )


def _is_installed(package: str) -> bool:
    """Whether a package or module can be imported. A folder without code is none."""
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    return spec is not None and spec.origin is not None


def _built_or_called(framework: str, path: str, build: Build | None) -> Target:
    if build is None:
        return CallableTarget(framework, path)
    return ObjectTarget(framework, path, dict(build))


def _dispatched(name: str, build: Build | None, place: str) -> Target:
    """The overload is that of the schema in the build."""
    given: Sequence[Argument] = list((build or {}).values())
    match given:
        case []:
            return OperatorTarget(TORCH, name.removeprefix(OWN))
        case [str() as text] if schema := SCHEMA.fullmatch(text.strip()):
            if schema["operator"] != name:
                raise UsageError(f"{place}: the schema in `build` is that of {schema['operator']}")
            # The dispatcher calls an overload without a name so.
            overload = schema["overload"] or "default"
            return OperatorTarget(TORCH, name.removeprefix(OWN), overload)
    raise UsageError(
        f"{place}: `build` of {name} takes one str, its schema: "
        '"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"'
    )
