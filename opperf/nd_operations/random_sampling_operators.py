"""Random numbers."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_mx_random_sampling_operators_benchmarks = RUNNERS["random_sampling"]
