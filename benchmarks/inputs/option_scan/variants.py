"""Chooses other values of operators' options: those that no case of the operator has.

Options are read from an operator's schema: parameters that are an enumeration or a boolean, axes,
numbers that are off by default (a temperature), and the phase where a framework has gradients.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from opperf.model import UNKNOWN, Argument, Case, Fill, Kind, Operator, Parameter, TensorSpec
from opperf.model.declaring import Struct

EXCLUDED = {
    "dtype": "the dtype is an axis of every case (--dtype)",
    "out_dtype": "as dtype",
    "out_type": "as dtype",
    "casting": "permits or refuses a conversion",
    "subok": "is about the class of the output",
    "cudnn_off": "is read on a GPU only",
    "cudnn_tune": "is read on a GPU only",
    "min_calib_range": "has a meaning for int8 inputs only, beside max_calib_range",
    "max_calib_range": "has a meaning for int8 inputs only, beside min_calib_range",
}
"""Parameters that are not tried, each with the reason."""

PHASE = "phase"
"""Stands for the setting of that name among the parameters."""

AXES = ("axis", "dim")
"""Parameters that are an axis, or several if they are a shape."""

NUMBER = 2.0
"""Value of a number that is off by default: by one, a kernel might not divide."""

BOOLEANS: dict[str | None, Argument] = {"1": True, "True": True, "0": False, "False": False}
"""Defaults of booleans, as frameworks print them; others are None, and neither of the two."""

OFF = "None"
"""The text of a default, or of a choice, that is no value."""

UNDOCUMENTED = {
    "method": ("linear", "lower", "higher", "midpoint", "nearest", "median_unbiased"),
    "interpolation": ("linear", "lower", "higher", "midpoint", "nearest"),
}
"""Words of enumerations that a function's documentation has in its text, if it does at all."""

OF_PAD = ("constant", "edge", "linear_ramp", "maximum", "mean", "reflect", "symmetric", "wrap")
"""Words of `pad`'s mode, likewise."""

Document = Callable[[Operator], str]
"""Returns an operator's documentation."""


class Variant(Struct, frozen=True):
    """A case of an operator, and the value of a parameter that it is tried with."""

    case: Case
    parameter: str
    value: Argument

    @property
    def key(self) -> str:
        """Identifies the variant within a scan; without a space, as figures of `ab` are named by a
        pair, a space and a metric."""
        return f"{self.case.id}:{self.parameter}={self.value}".replace(" ", "")


def variants(
    operator: Operator, cases: Sequence[Case], most: int, phases: bool, document: Document
) -> list[Variant]:
    """Returns the variants of at most `most` distinct configurations of an operator, without the
    values that some case of it has already. `phases` is whether the phase is tried, with the first
    configuration."""
    chosen = configurations(operator, cases, most)
    found = [
        Variant(case, parameter.name, value)
        for case in chosen
        for parameter in operator.parameters
        for value in _untried(parameter, case, cases, operator, document)
    ]
    have = {case.settings.phase for case in cases}
    if phases and len(have) == 1:
        found.append(Variant(chosen[0], PHASE, "predict" if have == {"train"} else "train"))
    return found


def configurations(operator: Operator, cases: Iterable[Case], most: int) -> list[Case]:
    """Returns the first case of each kind, at most `most`: first one for each layout and number of
    axes of the tensors, then those with further values of enumerations and booleans."""
    options = [one for one in operator.parameters if one.kind in (Kind.ENUM, Kind.BOOL)]
    kinds: dict[str, dict[str, Case]] = {}
    for case in cases:
        tensors = [(len(spec.shape), spec.layout) for _, spec in case.tensors()]
        values = [_value_of(case, option) for option in options]
        alike = kinds.setdefault(repr(tensors), {})
        alike.setdefault(repr((values, case.settings.phase)), case)
    turns = zip_longest(*(alike.values() for alike in kinds.values()))
    return [case for turn in turns for case in turn if case is not None][:most]


def _untried(
    parameter: Parameter, case: Case, cases: Iterable[Case], operator: Operator, document: Document
) -> list[Argument]:
    """Returns the values of a parameter that no case has."""
    if parameter.name in EXCLUDED:
        return []
    if parameter.name in AXES and parameter.kind in (Kind.INT, Kind.SHAPE):
        return _axes(parameter, case, cases)
    have = [_value_of(one, parameter) for one in cases]
    return [value for value in _values(parameter, operator, document) if value not in have]


def _values(parameter: Parameter, operator: Operator, document: Document) -> list[Argument]:
    """Returns every value of an option; none for another parameter."""
    if parameter.kind is Kind.BOOL:
        return [False, True]
    if parameter.kind is Kind.FLOAT and parameter.default == OFF:
        return [NUMBER]
    if parameter.kind is not Kind.ENUM:
        return []
    words = parameter.choices or _documented(parameter.name, operator, document(operator))
    return [None if word == OFF else word for word in words]


def _documented(name: str, operator: Operator, text: str) -> tuple[str, ...]:
    """Returns the words of an enumeration that a documentation lists in braces, as NumPy's does:
    `kind : {'quicksort', 'stable'}, optional`."""
    listed = re.search(rf"^\s*{re.escape(name)}\s*:[^{{\n]*\{{([^}}]*)\}}", text, re.MULTILINE)
    if listed:
        return tuple(re.findall(r"['\"](\w+)['\"]", listed[1]))
    return OF_PAD if (operator.name, name) == ("pad", "mode") else UNDOCUMENTED.get(name, ())


def _value_of(case: Case, parameter: Parameter) -> Argument:
    """Returns the value that a case has of an option, by its default if it does not set it."""
    if parameter.name in case.arguments:
        value = case.arguments[parameter.name]
        return None if value == OFF else value
    if parameter.kind is Kind.BOOL:
        return BOOLEANS.get(parameter.default)
    return None if parameter.default == OFF else parameter.default


def _axes(parameter: Parameter, case: Case, cases: Iterable[Case]) -> list[Argument]:
    """Returns the first, a middle and the last axis of the case's first tensor, without those that
    some case of the operator has: which of the three counts, and not its number."""
    have = {_places(one, parameter) for one in cases}
    rank = _rank(case)
    places = {"first": 0, "middle": rank // 2, "last": rank - 1}
    tried = {
        axis: place for place, axis in places.items() if _place(axis, rank) == place and rank > 1
    }
    new = [axis for axis, place in tried.items() if (place,) not in have]
    return [(axis,) for axis in new] if parameter.kind is Kind.SHAPE else list(new)


def _places(case: Case, parameter: Parameter) -> tuple[str, ...]:
    """Returns where the axes of a case are among those of its first tensor."""
    value: Any = case.arguments.get(parameter.name, parameter.default)
    rank = _rank(case)
    listed = value if isinstance(value, tuple) else (value,)
    axes = [int(one) for one in listed if re.fullmatch(r"-?\d+", str(one))]
    return tuple(_place(axis % rank, rank) for axis in axes) if rank else ()


def _place(axis: int, rank: int) -> str:
    if axis == rank - 1:
        return "last"
    return "first" if axis == 0 else "middle"


def _rank(case: Case) -> int:
    return next((len(spec.shape) for _, spec in case.tensors()), 0)


def attempts(variant: Variant, operator: Operator, inferred_first: bool) -> Iterator[Case]:
    """Yields the case with the value in several ways, of which the first that the framework accepts
    counts: with the same tensors; with the tensor that the option asks for, or without the one that
    it has no use for; and each of these with the shapes of all tensors but the first left to the
    framework, before or after those of the case."""
    case = variant.case
    if variant.parameter == PHASE:
        settings = msgspec.structs.replace(case.settings, phase=variant.value)
        yield msgspec.structs.replace(case, settings=settings)
        return
    arguments = {**case.arguments, variant.parameter: variant.value}
    if variant.value is None:
        del arguments[variant.parameter]
    for made in (arguments, *_with_other_tensors(arguments, variant, operator)):
        plain = msgspec.structs.replace(case, arguments=made)
        inferred = left_to_inference(plain)
        ordered = (inferred, plain) if inferred_first else (plain, inferred)
        yield from ordered[: 1 if inferred == plain else 2]


def _with_other_tensors(
    arguments: dict[str, Argument], variant: Variant, operator: Operator
) -> Iterator[dict[str, Argument]]:
    """Yields the arguments without `bias` for `no_bias`, and with `length` for `use_length`."""
    if variant.value is not True:
        return
    words = variant.parameter
    unused = [name for name in arguments if words == f"no_{name}"]
    if unused:
        yield {name: value for name, value in arguments.items() if name not in unused}
    for tensor in operator.tensors:
        if tensor.name not in arguments and words.endswith(f"_{tensor.name}"):
            # Such tensors are lengths: any below each extent is in range, whatever the axis.
            first = next((one for _, one in variant.case.tensors()), TensorSpec((1,)))
            lengths = Fill("integers", 1, min(first.shape) + 1)
            spec = TensorSpec(UNKNOWN, "int32", lengths, array_type=first.array_type)
            order = [one.name for one in operator.parameters]
            made = {**arguments, tensor.name: spec}
            yield dict(sorted(made.items(), key=lambda item: order.index(item[0])))


def left_to_inference(case: Case) -> Case:
    """Returns the case with the shapes of all dense tensors but the first unknown."""
    found, first = dict(case.arguments), True
    for name, value in case.arguments.items():
        if isinstance(value, TensorSpec):
            if not first and value.layout == "dense" and value.fill.distribution != "literal":
                found[name] = msgspec.structs.replace(value, shape=UNKNOWN)
            first = False
    return msgspec.structs.replace(case, arguments=found)
