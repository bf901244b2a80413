"""What is in no other category, the custom operator CustomAddOne among it."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_mx_misc_operators_benchmarks = RUNNERS["misc"]
