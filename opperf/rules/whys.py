"""Lines of why that are made from a configuration's arguments, where a family has none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from opperf.model import Argument, TensorSpec
from opperf.rules.configurations import Configuration


def describe_arguments(arguments: Mapping[str, Argument]) -> str:
    """Returns the extents and values of arguments in one line, as `4 x 3 elements for a and b, 0
    for axis`."""
    names: dict[str, list[str]] = {}
    for name, value in arguments.items():
        names.setdefault(describe_value(value), []).append(name)
    return ", ".join(f"{text} for {' and '.join(alike)}" for text, alike in names.items())


def describe_value(value: Argument) -> str:
    """Returns the extents of a tensor or of a list of tensors, else the value itself."""
    if isinstance(value, TensorSpec):
        return f"{' x '.join(map(str, value.shape)) or '1'} elements"
    if isinstance(value, tuple) and any(isinstance(one, TensorSpec) for one in value):
        counts = Counter(describe_value(one) for one in value)
        return " and ".join(f"{count} times {text}" for text, count in counts.items())
    return str(value)


def set_apart(
    made: Iterable[tuple[Configuration, Mapping[str, Argument]]],
) -> list[Configuration]:
    """Returns an operator's configurations, each of which comes with the argument that selects its
    operation. A line of why that several share has the argument's value in front."""
    pairs = list(made)
    uses = Counter(one.why for one, _ in pairs)
    return [
        one._replace(why=": ".join(filter(None, [*map(str, chosen.values()), one.why])))
        if uses[one.why] > 1
        else one
        for one, chosen in pairs
    ]
