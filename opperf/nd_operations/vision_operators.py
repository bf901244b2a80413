"""Images and object detection."""

from __future__ import annotations

from opperf.nd_operations.runners import category_runner

run_image_operators_benchmarks = category_runner(
    "image", "run_image_operators_benchmarks", "operators on images"
)

run_detection_operators_benchmarks = category_runner(
    "detection", "run_detection_operators_benchmarks", "object detection: boxes, anchors, regions"
)
