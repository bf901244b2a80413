"""Merge results, and write them to files."""

from __future__ import annotations

from opperf.mxnet_api.results import (
    get_json,
    merge_map_list,
    save_to_file,
)

__all__ = [
    "get_json",
    "merge_map_list",
    "save_to_file",
]
