"""Images and object detection."""

from __future__ import annotations

from opperf.mxnet_api.runners import RUNNERS

run_image_operators_benchmarks = RUNNERS["image"]
run_detection_operators_benchmarks = RUNNERS["detection"]
