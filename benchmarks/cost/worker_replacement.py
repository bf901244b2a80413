"""Delay of a run by a crash: from the record of a case that ended its worker to the next
answer, beside `python -c "import mxnet"`.

Each turn measures one operator that ends MXNet 1's process and then a healthy one, and imports
MXNet by itself; the operators take turns. Prints the median and the extremes of both.
Run: python benchmarks/cost/worker_replacement.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import cycle

from opperf.model import (
    Argument,
    CallableTarget,
    Case,
    OperatorTarget,
    Settings,
    Status,
    TensorSpec,
)
from opperf.worker.client import Worker

SMALL = TensorSpec((4, 4))
OF_NUMPY = TensorSpec((4, 4), array_type="np")

CRASHING: dict[str, tuple[str, dict[str, Argument]]] = {
    # The address of a Python operator's callbacks, and there is nothing at it.
    "_NDArray": ("nd._internal._NDArray", {"data": (SMALL,), "info": 1}),
    "_Native": ("nd._internal._Native", {"data": (SMALL,), "info": 1}),
    # Takes three axes and reads a third one that is not there.
    "_contrib_quantize_asym": ("nd.contrib.quantize_asym", {"data": SMALL}),
    # Axes that the matrices do not have.
    "_npi_tensordot": (
        "nd.numpy._internal.tensordot",
        {"a": OF_NUMPY, "b": OF_NUMPY, "a_axes_summed": (4, 4), "b_axes_summed": (4, 4)},
    ),
}
"""Operators that end the process in MXNet 1.9.1 when MXNet's own function calls them with small
tensors and plain values of the types they declare: that function, and these arguments."""

TURNS = 9
"""Crashes; the median of nine ignores a few disturbed ones."""

SETTINGS = Settings(profiler="python", warmup=0, runs=1, timeout_s=60.0)

IMPORT = "from opperf.numpy_aliases import restore; restore(); import mxnet"
"""Restores NumPy's removed names first, as `import mxnet` alone fails with a newer NumPy."""


def crashing_cases() -> list[Case]:
    """A case of each operator."""
    return [
        Case(CallableTarget("mxnet", path), arguments, SETTINGS, passes=("forward",))
        for path, arguments in CRASHING.values()
    ]


def healthy_cases() -> Iterator[Case]:
    """Cases that run, each another one: of cases with one id, a run keeps the last."""
    for rows in range(1, 1000):
        yield Case(OperatorTarget("mxnet", "relu"), {"data": TensorSpec((rows, 4))}, SETTINGS)


def replacement_s(worker: Worker, crashing: Case, healthy: Case) -> float:
    """Seconds from the record of a crash to the next record."""
    crashed = worker.measure(crashing)
    assert crashed.status is Status.CRASHED, crashed
    begun = time.perf_counter()
    record = worker.measure(healthy)
    taken = time.perf_counter() - begun
    assert record.status is Status.OK, record
    return taken


def import_s() -> float:
    """Seconds that a Python takes which imports MXNet and does nothing else."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", IMPORT], check=True)
    return time.perf_counter() - begun


def main() -> None:
    """Print a line for each."""
    taken: dict[str, list[float]] = {"crash to next answer": [], "import mxnet": []}
    crashing, healthy = cycle(crashing_cases()), healthy_cases()
    with Worker("mxnet") as worker:
        worker.environment()
        for _ in range(TURNS):
            taken["crash to next answer"].append(
                replacement_s(worker, next(crashing), next(healthy))
            )
            taken["import mxnet"].append(import_s())
    for name, times in taken.items():
        print(
            f"{name:20} {statistics.median(times):5.2f} s "
            f"[{min(times):.2f}, {max(times):.2f}], {TURNS} turns"
        )


if __name__ == "__main__":
    main()
