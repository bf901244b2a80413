"""The operators of no other category, with the custom operator `CustomAddOne`."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_mx_misc_operators_benchmarks = RUNNERS["misc"]
