"""Lines of PyTorch/XLA's benchmarks, as records and as text."""

import json

from opperf.formats.xla import record_of

BACKENDS = {
    "eager": (None, None),
    "inductor": (None, "inductor"),
    "openxla+dynamo": ("PJRT", "openxla"),
    "openxla+lazytensor": ("PJRT", None),
}
"""The settings `xla` and `dynamo` of backends."""

DAY = 24 * 3600

MONDAY = 1_700_438_400
"""2023-11-20, a Monday."""


def value(model="bert", backend="inductor", times=(9.0, 2.0, 2.0, 2.0), at=MONDAY, **more):
    """The object of a line; `more` are settings of the experiment, or `metrics`, or of the top."""
    xla, dynamo = BACKENDS[backend]
    metrics = more.pop("metrics", {"total_time": list(times)})
    top = {key: more.pop(key) for key in ("verification_code", "command") if key in more}
    return {
        "model": {"suite_name": more.pop("suite_name", "torchbench"), "model_name": model},
        "experiment": {
            "accelerator": "cuda",
            "accelerator_model": "Tesla V100",
            "xla": xla,
            "xla_flags": None,
            "dynamo": dynamo,
            "torch_xla2": None,
            "test": "eval",
            "enable_functionalization": False,
            "batch_size": 16,
            **more,
        },
        "repeat": 4,
        "iterations_per_run": 1,
        "metrics": metrics,
        "timestamp": at,
        **top,
    }


def record(*args, **more):
    """The record of a line."""
    return record_of(value(*args, **more), "results.jsonl:1")


def write(path, *values):
    """Writes lines, and returns the path."""
    path.write_text("".join(f"{json.dumps(one)}\n" for one in values))
    return path
