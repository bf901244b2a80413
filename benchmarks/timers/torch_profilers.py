"""Times of PyTorch by its own profiler, compared with wall-clock times.

For each of 30 operators at two sizes, in turns: the median by both profilers, forward and backward,
native over Python's, and the share of the recorded time that was recording. The exit code is 1 if a
native time exceeds Python's by more than the noise of this machine, which is the difference between
two runs of the Python timer.

Run: python -m benchmarks.timers.torch_profilers [THREADS]
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from tabulate import tabulate
from torch import Tensor
from torch.nn import functional

from opperf.frameworks.timing import PhaseTimes
from opperf.frameworks.torch.kineto import NativeProfiler, event_ns
from opperf.instruments.profilers.python import PythonTimer
from opperf.worker.pristine import configure_heap

TURNS = 7
WARM_CALLS = 10
TURN_S = 0.02
"""Seconds of a turn, so that it has many calls of a short operator and one of a long one."""

SIZES = {"small": 32, "default": 512}
"""Sides of squares."""

Operator = Callable[[Tensor], Any]


def operators(side: int) -> dict[str, tuple[Operator, Tensor]]:
    """Operators of every kind, each with its input."""
    square = torch.rand(side, side) + 0.5
    weight, row = torch.rand(side, side), torch.rand(side)
    mask, rows = weight > 0.5, torch.randint(0, side, (side,))
    pictures = torch.rand(4, 16, side // 4, side // 4)
    kernel, channel = torch.rand(16, 16, 3, 3), torch.rand(16)
    steps = torch.rand(20, 4, side // 4)
    gru, lstm = (kind(side // 4, side // 4) for kind in (torch.nn.GRU, torch.nn.LSTM))
    heads = torch.rand(2, 4, side // 4, 16)
    mean, variance = torch.zeros(16), torch.ones(16)
    return {
        "add": (lambda a: a + weight, square),
        "mul": (lambda a: a * weight, square),
        "exp": (torch.exp, square),
        "relu": (torch.relu, square),
        "gelu": (functional.gelu, square),
        "softmax": (lambda a: torch.softmax(a, -1), square),
        "where": (lambda a: torch.where(mask, a, weight), square),
        "sum": (torch.sum, square),
        "max": (lambda a: a.max(1), square),
        "cumsum": (lambda a: a.cumsum(1), square),
        "sort": (lambda a: torch.sort(a, 1), square),
        "topk": (lambda a: torch.topk(a, 5), square),
        "matmul": (lambda a: a @ weight, square),
        "linear": (lambda a: functional.linear(a, weight, row), square),
        "einsum": (lambda a: torch.einsum("ij,kj->ik", a, weight), square),
        "cat": (lambda a: torch.cat([a, weight]), square),
        "index_select": (lambda a: a.index_select(0, rows), square),
        "embedding": (lambda a: functional.embedding(rows, a), square),
        "transpose": (lambda a: a.t(), square),
        "contiguous": (lambda a: a.t().contiguous(), square),
        "split": (lambda a: a.split(4), square),
        "layer_norm": (lambda a: functional.layer_norm(a, (side,), row, row), square),
        "dropout": (lambda a: functional.dropout(a, 0.5), square),
        "mse_loss": (lambda a: functional.mse_loss(a, weight), square),
        "conv2d": (lambda a: functional.conv2d(a, kernel, padding=1), pictures),
        "max_pool2d": (lambda a: functional.max_pool2d(a, 2), pictures),
        "batch_norm": (
            lambda a: functional.batch_norm(a, mean, variance, channel, channel, True),
            pictures,
        ),
        "attention": (lambda a: functional.scaled_dot_product_attention(a, heads, heads), heads),
        "gru": (gru, steps),
        "lstm": (lstm, steps),
    }


def passes(operator: Operator, data: Tensor) -> dict[str, list[Callable[[], object]]]:
    """The phases of both passes."""
    leaf = data.clone().requires_grad_(True)
    outputs: list[Tensor] = []

    def forward() -> None:
        found = operator(leaf)
        listed = found if isinstance(found, (tuple, list)) else [found]
        outputs[:] = [one for one in listed if isinstance(one, Tensor) and one.requires_grad]

    forward()
    head_gradients = [torch.ones_like(one) for one in outputs]

    def backward() -> object:
        return torch.autograd.grad(outputs, [leaf], head_gradients)

    return {"forward": [lambda: operator(data)], "backward": [forward, backward]}


class Row(NamedTuple):
    """The medians of a pass, in nanoseconds."""

    native: float
    python: float
    noise: float
    """Difference between the medians of the odd and the even turns of the Python timer."""
    events: float
    share: float


def median(turns: Sequence[PhaseTimes]) -> float:
    """Median of all samples."""
    return statistics.median(time for turn in turns for time in turn.times)


def compare(phases: Sequence[Callable[[], object]]) -> Row:
    """Times the last of some phases by both profilers, in turns."""
    timers = {"native": NativeProfiler("cpu(0)"), "python": PythonTimer()}
    (*_, warm) = timers["python"].trace(phases, WARM_CALLS)
    count = max(1, min(500, int(TURN_S * 1e9 / max(1.0, statistics.median(warm.walls)))))
    found: dict[str, list[PhaseTimes]] = {name: [] for name in timers}
    for _ in range(TURNS):
        for name, timer in timers.items():
            found[name].append(timer.trace(phases, count)[-1])
    python = found["python"]
    return Row(
        median(found["native"]),
        median(python),
        abs(median(python[::2]) - median(python[1::2])),
        *found["native"][-1].recording,
    )


def main(threads: int) -> int:
    """Prints the figures, and returns the exit code."""
    # As in a worker: a result then has the memory of the one before.
    configure_heap("torch")
    torch.set_num_threads(threads)
    torch.set_grad_enabled(True)
    table, slower = [], []
    for size, side in SIZES.items():
        for name, (operator, data) in operators(side).items():
            for metric, phases in passes(operator, data).items():
                row = compare(phases)
                label = f"{name} {size} {metric}"
                if row.native > row.python + row.noise:
                    slower.append(label)
                table.append(
                    (label, row.native / 1e3, row.python / 1e3, row.native / row.python)
                    + (row.events, f"{row.share:.0%}")
                )
    columns = ("", "native us", "python us", "native/python", "events", "recording")
    print(tabulate(table, columns, floatfmt=("", ".2f", ".2f", ".3f", ".0f", "")))
    print(f"recording an event takes {event_ns():.0f} ns; {threads} threads")
    print(f"{len(table)} times; native exceeds python: {', '.join(slower) or 'none'}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
