"""Linear algebra."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_linalg_operators_benchmarks = RUNNERS["linalg"]
