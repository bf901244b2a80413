"""The backends that records of models are compared by: what compiled the model, if anything."""

from __future__ import annotations

from opperf.experiments.records import ModelRecord

TITLES = {
    "eager": "Eager",
    "inductor": "Inductor",
    "openxla+dynamo": "XLA+Dynamo",
    "openxla+lazytensor": "XLA+LazyTensor",
}
"""Those of PyTorch/XLA's benchmarks, by name; others have their own name for title."""

DEFAULT = ("inductor", "openxla+dynamo")

OF_XLA = {"openxla": "openxla+dynamo", None: "openxla+lazytensor"}
"""By what traces the program for XLA: dynamo's backend, or lazy tensors."""


def backend_of(record: ModelRecord) -> str | None:
    """Returns the backend's name; None for XLA's former runtime and for torch_xla2, which have
    none."""
    if record.torch_xla2 is not None:
        return None
    if record.xla is None:
        return "eager" if record.dynamo is None else record.dynamo
    if record.xla != "PJRT" or record.dynamo not in OF_XLA:
        return None
    return OF_XLA[record.dynamo]


def title_of(backend: str) -> str:
    """Returns the backend's name in headings."""
    return TITLES.get(backend, backend)
