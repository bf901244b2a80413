"""The form of a configuration: its operators, and the types of arguments.

    {OPERATOR: {"build_iterator"?, "input_iterator"?, "build_data_generator"?,
                "input_data_generator"?, "config": [{"build"?: [SPEC], "input": [SPEC]}]}}

A SPEC is `{"args"?: [ARGUMENT], "kwargs"?: {NAME: ARGUMENT}}`, and an ARGUMENT an object with a
`type`. Lists of specs are read by an iterator, which may have a form of its own for them.
"""

from __future__ import annotations

import difflib
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from opperf.errors import UsageError, suggest

T = TypeVar("T")

Raw = dict[str, Any]
"""An object of JSON."""


# PARAM ignores unknown keys, and so do these; a known key misspelt is an error.


class Config(Struct, frozen=True):
    """Ways to build an operator, and the inputs that each build is called with."""

    input: list[Raw]
    build: list[Raw] | None = None


class Entry(Struct, frozen=True):
    """Builds and inputs of one operator."""

    config: list[Config]
    build_iterator: str | None = None
    input_iterator: str | None = None
    build_data_generator: str | None = None
    input_data_generator: str | None = None


class Spec(Struct, frozen=True):
    """The arguments of one call or build."""

    args: list[Raw] = []
    kwargs: dict[str, Raw] = {}
    id: str | int | None = None
    """Of PARAM's own batches, which say there which input it was."""
    count: Any = None
    """How often a traced program made the call, as tools write it."""


class Typed(Struct, frozen=True):
    """Base of the types of arguments."""

    name: str = ""
    """Its meaning, for a reader."""


Distribution = Literal[
    "normal",
    "uniform",
    "integers",
    "constant",
    "sequence",
    "boolean",
    "signs",
    "odds",
    "permutation",
    "simplex",
    "padded",
    "band",
    "ascending",
    "parts",
    "balanced",
    "chosen",
    "positive_definite",
    "invertible",
    "lower_triangular",
    "boxes",
]
"""Fills of tensors that need no data."""

MemoryFormat = Literal["contiguous", "channels_last", "channels_last_3d"]


class TensorArgument(Typed, frozen=True, kw_only=True):
    """A tensor; `strides`, `memory_format`, `distribution` and `domain` are opperf's own."""

    dtype: str
    shape: list[int]
    requires_grad: bool | None = None
    """True if not said, of a floating dtype."""
    strides: list[int] | None = None
    """Elements from one index to the next along each axis; of a contiguous tensor if not said."""
    memory_format: MemoryFormat = "contiguous"
    distribution: Distribution | None = None
    """How its contents are drawn; as the operator's rule says if not said."""
    domain: tuple[float, float] | None = None
    """The two numbers of the distribution: least and limit, or mean and standard deviation."""


class IntArgument(Typed, frozen=True, kw_only=True):
    """An integer: given, or drawn from a range with both ends. PARAM passes any number on as it
    is."""

    value: int | float | bool | msgspec.UnsetType | None = msgspec.UNSET
    value_range: tuple[int, int] | msgspec.UnsetType = msgspec.UNSET


class FloatArgument(Typed, frozen=True, kw_only=True):
    """A real number: given, or drawn from a range."""

    value: float | bool | msgspec.UnsetType | None = msgspec.UNSET
    value_range: tuple[float, float] | msgspec.UnsetType = msgspec.UNSET


class BoolArgument(Typed, frozen=True, kw_only=True):
    """True or false."""

    value: bool | int


class StrArgument(Typed, frozen=True, kw_only=True):
    """A text."""

    value: str = ""


class NoneArgument(Typed, frozen=True, kw_only=True):
    """Python's None."""

    value: Any = None


class DeviceArgument(Typed, frozen=True, kw_only=True):
    """A device as an argument, by PyTorch's name: `cuda:1`."""

    value: str


class DtypeArgument(Typed, frozen=True, kw_only=True):
    """A dtype as an argument; opperf's own."""

    value: str


class MemoryFormatArgument(Typed, frozen=True, kw_only=True):
    """An order of axes in memory as an argument; opperf's own."""

    value: Literal["contiguous", "preserve", "channels_last", "channels_last_3d"]


class ListArgument(Typed, frozen=True, kw_only=True):
    """A list of arguments, each with its own type."""

    value: list[Raw]


TYPES: dict[str, type[Typed]] = {
    "tensor": TensorArgument,
    **dict.fromkeys(("int", "long"), IntArgument),
    **dict.fromkeys(("float", "double"), FloatArgument),
    "bool": BoolArgument,
    "str": StrArgument,
    "none": NoneArgument,
    "device": DeviceArgument,
    "dtype": DtypeArgument,
    "memory_format": MemoryFormatArgument,
    **dict.fromkeys(("genericlist", "tuple"), ListArgument),
}
"""Types of arguments by name."""

NUMBERS = ("int", "long", "float", "double")
LISTS = ("genericlist", "tuple")


def convert(value: object, form: type[T], place: str) -> T:
    """Returns a value of JSON in its form. Raises `UsageError` with the key path, which `place`
    begins."""
    _check_keys(value, form, place)
    try:
        return msgspec.convert(value, form, strict=True)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        where = where.rstrip("`")
        raise UsageError(f"{place}{where}: {what[0].lower()}{what[1:]}") from None


MISSPELT = 0.8
"""Similarity, by `difflib`, of a key with a letter too many or too few to the key that is meant."""


def _check_keys(value: object, form: type[Any], place: str) -> None:
    """Raises `UsageError` for a key that is one of the form's misspelt."""
    if not isinstance(value, dict):
        return
    known = [field.encode_name for field in msgspec.structs.fields(form)]
    for key in value.keys() - {*known, "type"}:
        absent = [key for key in known if key not in value]
        meant = difflib.get_close_matches(key, absent, 1, MISSPELT)
        if meant:
            raise UsageError(f"{place}: unknown field `{key}`; did you mean {meant[0]}?")
    if form is Entry and isinstance(value.get("config"), list):
        for number, config in enumerate(value["config"]):
            _check_keys(config, Config, f"{place}.config[{number}]")


def type_of(argument: Raw, place: str) -> str:
    """Returns the type of an argument. Raises `UsageError` if it has none, or one that is
    unknown."""
    kind = argument.get("type")
    if isinstance(kind, str) and kind in TYPES:
        return kind
    if "type" not in argument:
        raise UsageError(f"{place}: the argument has no `type`; known: {', '.join(TYPES)}")
    raise UsageError(
        f"{place}.type: unknown type {kind!r}{suggest(str(kind), TYPES)}; known: {', '.join(TYPES)}"
    )


def read_argument(argument: Raw, place: str) -> Typed:
    """Returns a typed argument. Raises `UsageError` with the key path."""
    return convert(argument, TYPES[type_of(argument, place)], place)
