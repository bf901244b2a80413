"""Lines of why of recorded inputs: the models, the number of calls, and the shapes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

Entry = Mapping[str, Any]

NAMED = 2
"""Models that a line names; more would leave no room for the shapes."""

SHAPES = 3
"""Different tensors that a line has the shapes of: the operands of a convolution's backward."""


CHANNELS_LAST = (0, 2, 3, 1)
"""Axes of images, outermost in memory first, where a pixel's channels are side by side."""


def describe(entries: Sequence[Entry], size: str) -> list[str]:
    """Returns a line for each input of an operator at a size of that name, none like another."""
    lines = [
        (f"{models(entry['models'])}, {calls(entry['count'])}: ", shapes(entry), entry)
        for entry in entries
    ]
    texts = [text for _, text, _ in lines]
    for detail in DETAILS:
        texts = set_apart(texts, [detail(entry) for entry in entries])
    return [
        f"{start}{'scaled down from ' if size in entry else ''}{text}"
        for (start, _, entry), text in zip(lines, texts, strict=True)
    ]


def models(names: Sequence[str]) -> str:
    """Returns the names of models, of many the first."""
    if len(names) <= NAMED + 1:
        return " and ".join([", ".join(names[:-1]), names[-1]]) if names[1:] else names[0]
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"


def calls(count: int) -> str:
    """Returns a number of calls in words."""
    return f"{count} call{'s' if count != 1 else ''}"


def shapes(entry: Entry) -> str:
    """Returns the shapes of an input's tensors; those in a row that are the same, once."""
    texts = []
    for value in entry["arguments"].values():
        listed = value if isinstance(value, list) else [value]
        texts += [
            shape(element) for element in listed if isinstance(element, dict) and "shape" in element
        ]
    rows = [(text, len(list(same))) for text, same in groupby(texts)]
    shown = [f"{count} of {text}" if count > 1 else text for text, count in rows[:SHAPES]]
    return ", ".join(shown) + (f" and {len(rows) - SHAPES} more" if rows[SHAPES:] else "")


def shape(tensor: Mapping[str, Any]) -> str:
    """Returns a tensor's shape, and how it lies in memory if it is not contiguous."""
    text = f"({', '.join(map(str, tensor['shape']))})" if tensor["shape"] else "a number"
    strides = tensor.get("strides")
    if not strides:
        return text
    if 0 in strides:
        return f"{text} expanded"
    axes = tuple(sorted(range(len(strides)), key=lambda axis: -strides[axis]))
    order = {tuple(range(len(strides))): "strided", CHANNELS_LAST: "channels last"}
    return f"{text} {order.get(axes, 'transposed')}"


def options(entry: Entry) -> dict[str, str]:
    """Returns the plain arguments of an input as text."""
    return {
        name: text(value) for name, value in entry["arguments"].items() if not has_tensor(value)
    }


def has_tensor(value: Any) -> bool:
    """Whether an argument is a tensor or a list of them."""
    listed = value if isinstance(value, list) else [value]
    return any(isinstance(element, dict) and "shape" in element for element in listed)


def text(value: Any) -> str:
    """Returns a plain argument as users write it."""
    if isinstance(value, dict):
        return str(next(iter(value.values())))
    return json.dumps(value)


def tensors(entry: Entry, field: str) -> dict[str, str]:
    """Returns a field of an input's tensors, by argument."""
    return {
        name: str(value.get(field, "contiguous"))
        for name, value in entry["arguments"].items()
        if isinstance(value, dict) and "shape" in value
    }


DETAILS: tuple[Callable[[Entry], dict[str, str]], ...] = (
    options,
    lambda entry: tensors(entry, "dtype"),
    lambda entry: tensors(entry, "strides"),
)
"""Details by which inputs of the same shapes differ, the most telling first."""


def set_apart(texts: Sequence[str], details: Sequence[Mapping[str, str]]) -> list[str]:
    """Returns the texts, those that several share with the details in which these differ."""
    counts = Counter(texts)
    made = []
    for text, own in zip(texts, details, strict=True):
        alike = [other for other, one in zip(details, texts, strict=True) if one == text]
        differing = [
            f"{name} {value}"
            for name, value in own.items()
            if any(other.get(name) != value for other in alike)
        ]
        made.append(", ".join([text, *differing]) if counts[text] > 1 else text)
    return made
