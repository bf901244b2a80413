"""Reads results by operator, `{operator: [result, ...]}`, as JSON.

They hold averages and a peak for each configuration, and no spread.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opperf.comparison.files.entries import Entry, Figure
from opperf.errors import RunFileError
from opperf.results.figures import unit_of
from opperf.results.result_keys import source_of
from opperf.results.text import arguments_text


def entries_of_results(
    path: Path, results: Any, key: Callable[[str, Any], str], ids: Mapping[str, Sequence[str]]
) -> tuple[Entry, ...]:
    """An entry for every configuration; `key` makes its join key from operator and inputs. `ids`
    are those of each operator's results, as far as they are known.

    Raises `RunFileError` for anything but results by operator.
    """
    if not isinstance(results, dict):
        raise RunFileError(f"{path}: not results by operator: the JSON is not an object")
    entries = tuple(
        _entry(operator, result, key, selector)
        for operator, listed in results.items()
        for result, selector in _results(path, operator, listed, ids.get(operator, ()))
    )
    if not entries:
        raise RunFileError(f"{path}: has no results, so there is nothing to compare")
    return entries


def _results(
    path: Path, operator: str, listed: Any, ids: Sequence[str]
) -> Iterator[tuple[dict[str, Any], str]]:
    """The results of one operator, each with its id; empty if there is not one for each."""
    if not isinstance(listed, list) or not all(isinstance(result, dict) for result in listed):
        raise RunFileError(f"{path}: not results by operator: {operator!r} has no list of results")
    yield from zip(listed, ids if len(ids) == len(listed) else [""] * len(listed), strict=True)


def _entry(
    operator: str, result: dict[str, Any], key: Callable[[str, Any], str], selector: str
) -> Entry:
    inputs = result.get("inputs", {})
    shown = inputs if isinstance(inputs, dict) else {"inputs": inputs}
    details = result.get("details")
    details = details if isinstance(details, dict) else {}
    return Entry(
        operator=operator,
        selector=selector,
        pattern=operator,
        inputs=arguments_text(shown, details),
        shown=key(operator, inputs),
        details=details_key(details),
        figures=_figures(operator, result),
    )


def details_key(details: Any) -> str:
    """The details of tensors in results by operator; empty without any."""
    return json.dumps(details, sort_keys=True, default=str) if details else ""


def _figures(operator: str, result: dict[str, Any]) -> dict[str, Figure]:
    """The figures by metric; for memory, that of the device with the largest peak."""
    found: dict[str, Figure] = {}
    for name, value in result.items():
        source = source_of(name, operator)
        if source is None or not isinstance(value, int | float):
            continue
        metric, statistic = source
        if statistic != "mean" and not metric.is_steady:
            continue
        measured = value * unit_of(metric.unit).size
        if metric.name not in found or found[metric.name].mean < measured:
            found[metric.name] = Figure(metric.unit, measured, measured)
    return found
