"""Matrix products."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_gemm_operators_benchmarks = RUNNERS["gemm"]
