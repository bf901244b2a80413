"""Losses."""

from __future__ import annotations

from opperf.nd_operations.runners import category_runner

run_loss_operators_benchmarks = category_runner("loss", "run_loss_operators_benchmarks", "losses")
