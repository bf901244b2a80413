"""Indexing."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_indexing_routines_benchmarks = RUNNERS["indexing"]
