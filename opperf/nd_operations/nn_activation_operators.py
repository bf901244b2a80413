"""Activations."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_activation_operators_benchmarks = RUNNERS["activation"]
