"""Graphs stored as sparse matrices."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_graph_operators_benchmarks = RUNNERS["graph"]
