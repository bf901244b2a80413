"""Sweeps as text: variables with their ranges, labels and inputs that the points share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opperf.model import Case, ObjectTarget, display_argument, display_arguments
from opperf.results.details import display_details
from opperf.results.text import MORE, split_arguments, truncate, value_text

MOST_CONFIGURATION = 160
"""Most characters of a configuration in the name of a line, which is wrapped: four lines of half
a narrow terminal, more than all details of two tensors take."""


def point_text(point: Mapping[str, int]) -> str:
    """Returns the values of swept variables on one line: `n=128, m=4`."""
    return ", ".join(f"{variable}={value}" for variable, value in point.items())


def variables_of(cases: Iterable[Case]) -> tuple[str, ...]:
    """Returns the swept variables of the cases, in their order."""
    return tuple(dict.fromkeys(variable for case in cases for variable in case.point))


def sweep_text(cases: Sequence[Case]) -> str:
    """Returns the swept variables with their ranges: `n 128 to 2048`; empty without a sweep."""
    texts = []
    for variable in variables_of(cases):
        values = [case.point[variable] for case in cases if variable in case.point]
        texts.append(f"{variable} {min(values)} to {max(values)}")
    return ", ".join(texts)


def swept_labels(cases: Sequence[Case]) -> list[str]:
    """Returns each case's label. The points of a layer's sweep, which is built for each, share one,
    with the variables in the place of values: `LayerNorm(normalized_shape=(n,))`."""
    layers: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        if case.point and isinstance(case.target, ObjectTarget):
            layers.setdefault((case.target.file, case.target.path), []).append(case)
    labels = {path: _layer_label(own) for path, own in layers.items()}
    return [
        labels[case.target.file, case.target.path]
        if case.point and isinstance(case.target, ObjectTarget)
        else case.label
        for case in cases
    ]


def _layer_label(cases: Sequence[Case]) -> str:
    points = [case.point for case in cases]
    targets = [case.target for case in cases if isinstance(case.target, ObjectTarget)]
    shown = [
        {name: display_argument(value) for name, value in target.arguments.items()}
        for target in targets
    ]
    words = [
        f"{name}={_varying_text([own.get(name) for own in shown], points)}" for name in shown[0]
    ]
    name = targets[0].key.name
    return f"{name}({', '.join(words)})" if words else name


def configurations_of(cases: Sequence[Case]) -> list[str]:
    """Returns the text of each case's configuration, or none without several."""
    found: dict[str, dict[tuple[str, ...], list[Case]]] = {}
    for case in cases:
        if case.point:
            found.setdefault(case.label, {}).setdefault(case.tags, []).append(case)
    if all(len(own) == 1 for own in found.values()):
        return []
    texts = {
        (label, tags): text
        for label, own in found.items()
        for tags, text in zip(own, _distinct_texts(list(own.values())), strict=True)
    }
    return [texts.get((case.label, case.tags), "") for case in cases]


def _distinct_texts(configurations: Sequence[Sequence[Case]]) -> list[str]:
    """Returns the arguments in which configurations, each with the cases of its points, differ: the
    plain values alone if these are enough. The first argument is the text of one which has nothing
    but what all have, and all arguments that of a single configuration."""
    parts = [split_arguments(swept_inputs(cases)) for cases in configurations]
    common = set.intersection(*map(set, parts)) if len(parts) > 1 else set()
    differing = [[part for part in own if part not in common] for own in parts]
    plain = [[part for part in own if "(" not in part] for own in differing]
    for candidate in (plain, differing) if len(parts) > 1 else (differing,):
        named = [own or all_of[:1] for own, all_of in zip(candidate, parts, strict=True)]
        texts = [truncate(", ".join(own), MOST_CONFIGURATION) for own in named]
        if len(set(texts)) == len(texts):
            return texts
    return [f"configuration {place}" for place, _ in enumerate(configurations)]


def swept_inputs(cases: Sequence[Case]) -> str:
    """Returns the inputs that cases of a sweep have in common, with the variables in the place of
    the extents that they set: `data: (16, 128, n)`. Whatever else varies is an ellipsis."""
    points = [case.point for case in cases]
    shown = [display_arguments(case) for case in cases]
    details = [display_details(case) for case in cases]
    joined = {
        place: _varying_words([detail.get(place, "") for detail in details], points)
        for place in details[0]
    }
    texts = []
    for name in shown[0]:
        values = [detail.get(name) for detail in shown]
        same = all(value == values[0] for value in values)
        text = value_text(values[0], name, joined) if same else _varying_text(values, points)
        detail = "" if same else joined.get(name, "")
        texts.append(f"{name}: {text} {detail}".rstrip())
    return ", ".join(texts)


NUMBER = re.compile(r"(\d+)")


def _varying_words(texts: Sequence[str], points: Sequence[Mapping[str, int]]) -> str:
    """Returns details as one text, `strides (…, 2)`; empty if more than numbers differ."""
    if all(text == texts[0] for text in texts):
        return texts[0]
    split = [NUMBER.split(text) for text in texts]
    if any(len(words) != len(split[0]) or words[::2] != split[0][::2] for words in split):
        return ""
    return "".join(
        column[0] if all(text == column[0] for text in column) else _variable(column, points)
        for column in zip(*split, strict=True)
    )


def _varying_text(values: Sequence[Any], points: Sequence[Mapping[str, int]]) -> str:
    first = values[0]
    if all(value == first for value in values):
        return value_text(first)
    if all(isinstance(value, list) and len(value) == len(first) for value in values):
        texts = [_varying_text(column, points) for column in zip(*values, strict=True)]
        inside = ", ".join(texts)
        if any(isinstance(element, list) for element in first):
            return f"[{inside}]"
        return f"({inside},)" if len(texts) == 1 else f"({inside})"
    return _variable([str(value) for value in values], points)


def _variable(numbers: Sequence[str], points: Sequence[Mapping[str, int]]) -> str:
    """Returns the swept variable that has these numbers at its points, else an ellipsis."""
    for variable in points[0]:
        if all(str(point.get(variable)) == one for point, one in zip(points, numbers, strict=True)):
            return variable
    return MORE
