"""opperf's figures beside those of the method of PyTorch's own operator benchmark.

Five operators at `short` configurations of pytorch/benchmarks/operator_benchmark, forward and
backward, on one thread and in turns: opperf's median by the profilers `python` and `native`, and
the other's figure. That is measured as the other measures: 100 calls to warm up, then runs of 100
calls and of twice as many each time, until a run takes a second; the figure is the median over the
runs of a run's time divided by its calls. A call goes through two Python functions there, and
convolutions and bags of embeddings are modules.

The other's backward pass is that of the output's mean, over a graph that is kept, and adds to the
gradients of the time before. The mean's own gradient and the additions are in its time, and not in
opperf's, which is that of the operator's backward pass alone. matmul has no backward pass there.

Run: python benchmarks/timers/torch_operator_benchmark.py [TURNS]
"""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import torch
from tabulate import tabulate
from torch import Tensor
from torch.nn import functional

from opperf.frameworks import Framework, load
from opperf.frameworks.timing import Profiler
from opperf.instruments.prepared import PreparedCase
from opperf.instruments.profilers import profiler
from opperf.model import Argument, Case, Fill, Settings, TensorSpec
from opperf.worker.pristine import configure_heap

DEVICE = "cpu(0)"

WARM_CALLS = 100
FIRST_CALLS = 100
GROWTH = 2
LEAST_RUN_S = 1.0
MOST_CALLS = 1_000_000
"""The other's defaults: calls to warm up, calls of the first run, ratio of the calls of two runs,
seconds from which a run is long enough, and calls from which it is in any case."""

TURNS = 3
"""Turns of each method. A turn of the other takes some two seconds, as its runs do together."""

TURN_S = 0.5
"""Seconds of a turn of opperf."""

SIDE = 256
VOCABULARY, WIDTH, WORDS = 2300, 64, 64

LONG = "int64"

Arguments = dict[str, Argument]
Pass = Callable[[int], None]
"""Runs as many calls as it is passed."""


class Entry(NamedTuple):
    """One of the other's configurations."""

    arguments: Arguments
    backward: bool = True


def tensor(*shape: int, gradient: bool = True, **fields: Any) -> TensorSpec:
    """Returns the spec of a tensor with numbers between 0 and 1, as the other draws them."""
    return TensorSpec(shape, fill=Fill("uniform", 0.0, 1.0), gradient=gradient, **fields)


CONFIGURATIONS = {
    "add.Tensor": Entry({"self": tensor(64, 64, 64), "other": tensor(64, 64, 64)}),
    "matmul": Entry(
        {
            # Not transposed is what the other calls a tensor that is made by a transposition.
            "self": tensor(SIDE, SIDE, gradient=False, strides=(1, SIDE)),
            "other": tensor(SIDE, SIDE, gradient=False),
        },
        backward=False,
    ),
    "conv2d": Entry(
        {
            "input": tensor(1, 256, 16, 16, gradient=False),
            "weight": tensor(256, 256, 3, 3),
            "bias": tensor(256),
        }
    ),
    "batch_norm": Entry(
        {
            "input": tensor(1, 256, 3136),
            "weight": tensor(256, gradient=False),
            "bias": tensor(256, gradient=False),
            "running_mean": tensor(256, gradient=False),
            "running_var": tensor(256, gradient=False),
            "training": True,
            "momentum": 0.1,
            "eps": 1e-5,
            "cudnn_enabled": False,
        }
    ),
    "embedding_bag": Entry(
        {
            "weight": tensor(VOCABULARY, WIDTH),
            "indices": TensorSpec((WORDS,), LONG, Fill("integers", 0, VOCABULARY)),
            "offsets": TensorSpec((2,), LONG, Fill("literal", data=[0, WORDS])),
            "include_last_offset": True,
        }
    ),
}


def cases() -> dict[str, Case]:
    """Returns the case of each configuration."""
    from opperf.frameworks.torch import registry

    found = {}
    for name, entry in CONFIGURATIONS.items():
        registered = registry.find(name)
        assert registered is not None
        settings = Settings(device=DEVICE)
        found[name] = Case(registered.operator.target, entry.arguments, settings)
    return found


def batch_norm(data: Tensor, *statistics: Tensor) -> Tensor:
    """Normalises as the other does, which sets cuDNN's use in each call."""
    with torch.backends.cudnn.flags(enabled=False):
        return functional.batch_norm(data, *statistics, training=True)


def others(gradient: bool) -> dict[str, OtherBenchmark]:
    """Returns the other's benchmarks, of tensors with or without gradients."""

    def made(*shape: int) -> Tensor:
        return torch.rand(shape, requires_grad=gradient)

    # The module's parameters alone have gradients there.
    convolution = torch.nn.Conv2d(256, 256, 3).requires_grad_(gradient)
    bag = torch.nn.EmbeddingBag(VOCABULARY, WIDTH, mode="sum", include_last_offset=True)
    words = torch.randint(VOCABULARY, (WORDS,))
    square = torch.rand(SIDE, SIDE)
    return {
        "add.Tensor": OtherBenchmark(torch.add, made(64, 64, 64), made(64, 64, 64)),
        "matmul": OtherBenchmark(torch.matmul, square.t(), torch.rand(SIDE, SIDE)),
        "conv2d": OtherBenchmark(convolution, torch.rand(1, 256, 16, 16)),
        "batch_norm": OtherBenchmark(
            batch_norm, made(1, 256, 3136), *(torch.rand(256) for _ in range(4))
        ),
        "embedding_bag": OtherBenchmark(
            bag.requires_grad_(gradient), words, torch.tensor([0, WORDS])
        ),
    }


class OtherBenchmark:
    """An operator as the other benchmark runs it."""

    def __init__(self, function: Callable[..., Any], *inputs: Any) -> None:
        self._function, self._inputs = function, inputs
        self._output = self._mean = torch.empty(0)

    def _forward(self, *inputs: Any) -> Tensor:
        result: Tensor = self._function(*inputs)
        return result

    def _forward_once(self) -> Tensor:
        return self._forward(*self._inputs)

    def forward(self, calls: int) -> None:
        """Runs the forward pass."""
        for _ in range(calls):
            self._output = self._forward_once()

    def backward(self, calls: int) -> None:
        """Runs the backward pass of the mean that `record` made."""
        for _ in range(calls):
            self._mean.backward(retain_graph=True)

    def record(self) -> None:
        """Runs the forward pass of which `backward` computes the gradients."""
        self.forward(1)
        self._mean = self._output.mean()


def figure_us(run: Pass, before: Callable[[], None]) -> float:
    """Returns the other's figure for a pass, in microseconds. `before` comes before each run, and
    is not timed."""
    before()
    run(WARM_CALLS)
    calls, times = FIRST_CALLS, []
    while True:
        before()
        begun = perf_counter()
        run(calls)
        taken = perf_counter() - begun
        times.append(taken / calls)
        if taken > LEAST_RUN_S or calls > MOST_CALLS:
            return statistics.median(times) * 1e6
        calls *= GROWTH


def median_us(timer: Profiler, phases: list[Callable[[], object]], call_s: float) -> float:
    """Returns opperf's median of the last phase in microseconds."""
    count = max(5, int(TURN_S / call_s))
    return statistics.median(timer.trace(phases, count)[-1].times) / 1e3


class Row(NamedTuple):
    """The figures of a pass, in microseconds."""

    label: str
    python: float
    native: float
    other: float

    @property
    def cells(self) -> tuple[Any, ...]:
        """The figures, and the other's over opperf's."""
        return (*self, self.other / self.python)


def in_turns(label: str, methods: dict[str, Callable[[], float]], turns: int) -> Row:
    """Returns the median over the turns of each method's figures."""
    found: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(turns):
        order = list(methods)
        random.shuffle(order)
        for name in order:
            found[name].append(methods[name]())
    return Row(label, **{name: statistics.median(figures) for name, figures in found.items()})


def compare(name: str, case: Case, framework: Framework, turns: int) -> list[Row]:
    """Returns the rows of one operator: forward and, where the other has it, backward."""
    timers = {each: profiler(each, framework, DEVICE) for each in ("python", "native")}

    def row_of(label: str, phases: list[Callable[[], object]], other: Callable[[], float]) -> Row:
        begun = perf_counter()
        for phase in phases:
            phase()
        call_s = perf_counter() - begun
        methods = {
            each: lambda timer=timer: median_us(timer, phases, call_s)
            for each, timer in timers.items()
        }
        return in_turns(f"{name} {label}", {**methods, "other": other}, turns)

    with framework.scope(case):
        prepared = PreparedCase(case, framework)
        prepared.call()
        forward = others(gradient=False)[name]
        rows = [
            row_of("forward", [prepared.call], lambda: figure_us(forward.forward, lambda: None))
        ]
        if CONFIGURATIONS[name].backward:
            gradient = framework.gradients.gradient(case, prepared.call, prepared.differentiated)
            backward = others(gradient=True)[name]
            rows.append(
                row_of(
                    "backward",
                    [gradient.record, gradient.backward],
                    with_gradients(lambda: figure_us(backward.backward, backward.record)),
                )
            )
    return rows


def with_gradients(measured: Callable[[], float]) -> Callable[[], float]:
    """Returns the function with gradients enabled, which opperf enables for its own calls only."""

    def called() -> float:
        with torch.enable_grad():
            return measured()

    return called


def main(turns: int) -> None:
    """Prints a line for each operator and pass."""
    configure_heap("torch")
    framework = load("torch")
    framework.processes.set_threads(1)
    rows = [row for name, case in cases().items() for row in compare(name, case, framework, turns)]
    columns = ("", "opperf python us", "opperf native us", "other us", "other/python")
    print(tabulate([row.cells for row in rows], columns, floatfmt=("", ".2f", ".2f", ".2f", ".3f")))
    print(f"PyTorch {torch.__version__}, 1 thread, {turns} turns")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TURNS)
