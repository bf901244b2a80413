"""Runners of MXNet's operators: by category, one module each, and one for all."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS, run_all_mxnet_operator_benchmarks

__all__ = ["RUNNERS", "run_all_mxnet_operator_benchmarks"]
