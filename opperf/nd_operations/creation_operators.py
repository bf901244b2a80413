"""Operators that make or convert an array."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_creation_operators_benchmarks = RUNNERS["creation"]
run_conversion_operators_benchmarks = RUNNERS["conversion"]
