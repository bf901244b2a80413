"""Merges results, and writes them to files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from opperf.decoding import JsonObject
from opperf.errors import UsageError
from opperf.model import MetricKind
from opperf.reports.run_page import results_text
from opperf.results.output import replace

KINDS = {"native": MetricKind.KERNEL, "python": MetricKind.WALL}
"""Kind of the times of each of the two profilers of MXNet's utility."""


def merge_map_list(maps: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """One dict from several, sorted by key. Lists under the same key are joined, so that no
    configuration is lost; the last of other values is kept."""
    merged: dict[str, Any] = {}
    for mapping in maps:
        for key, value in mapping.items():
            if isinstance(value, list) and isinstance(merged.get(key), list):
                merged[key] = [*merged[key], *value]
            else:
                merged[key] = value
    return dict(sorted(merged.items()))


def get_json(results: Mapping[str, Sequence[JsonObject]]) -> str:
    """Results as JSON text, sorted by operator; a value without a JSON type becomes a string."""
    return json.dumps(results, indent=4, sort_keys=True, default=str)


def save_to_file(
    results: Mapping[str, Sequence[JsonObject]],
    out_filepath: str | Path,
    out_format: str = "json",
    runtime_features: Any = None,
    profiler: str = "native",
) -> None:
    """Write `{operator: [result, ...]}` to a file.

    Parameters
    ----------
    results : dict
        As the category runners return it.
    out_filepath : path
        The file; an existing one is replaced.
    out_format : {'json', 'md'}
        JSON, or Markdown with a list of runtime features and a table.
    runtime_features : dict or iterable of mx.runtime.Feature, optional
        Build features for the head of the Markdown.
    profiler : {'native', 'python'}
        The profiler of the results, which decides the table's columns.

    Raises
    ------
    UsageError
        For another format or profiler.
    OutputError
        When the file cannot be written.
    """
    if out_format == "json":
        text = get_json(results)
    elif out_format == "md":
        if profiler not in KINDS:
            raise UsageError(f"unknown profiler {profiler!r}; known: {', '.join(KINDS)}")
        text = results_text(results, _features(runtime_features), KINDS[profiler])
    else:
        raise UsageError(f"unknown format {out_format!r}; known: json, md")
    replace(Path(out_filepath), f"{text}\n".encode())


def _features(features: Any) -> dict[str, bool]:
    """Whether each feature is enabled, by name. `features` are None, MXNet's own list, a dict, or a
    dict with that dict under `runtime_features`."""
    if features is None:
        return {}
    if isinstance(features, Mapping):
        features = features.get("runtime_features", features)
    if isinstance(features, Mapping):
        return {
            str(name): bool(getattr(feature, "enabled", feature))
            for name, feature in features.items()
        }
    return {feature.name: bool(feature.enabled) for feature in features}
