"""Sorting and searching."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_sorting_searching_operators_benchmarks = RUNNERS["sorting_searching"]
