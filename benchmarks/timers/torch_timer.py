"""opperf's Python timer beside PyTorch's own, `torch.utils.benchmark.Timer.blocked_autorange`.

Both time the same calls of 20 operators on one thread, in turns, in random order; ratios are taken
turn by turn, so that the machine's drift falls on both. Prints, per operator, both medians and the
median of the ratios with its 95 % confidence interval; beside it the ratio of the fastest turns,
which neighbours on a shared machine move less, and that of the time by PyTorch's profiler
(`native`) to that by opperf's Python timer, of turns with as many calls.

The operators write to a tensor that they are given: a result that begins 64 bytes after its input,
modulo a page, takes up to 13 % longer to write, and what PyTorch's profiler records moves the new
results of its turns.

Run: python benchmarks/timers/torch_timer.py
"""

from __future__ import annotations

import random
import statistics
from typing import Any, NamedTuple

from opperf.frameworks import load
from opperf.instruments.prepared import PreparedCase
from opperf.instruments.profilers import profiler
from opperf.instruments.profilers.summary import median_interval
from opperf.model import Case, Fill, OperatorTarget, Settings, TensorSpec
from opperf.worker.pristine import configure_heap

PRODUCT, SORT, SUM = "mm.out", "sort.values", "sum.IntList_out"
SIDE = 256
SIDES = {
    **dict.fromkeys(("sigmoid.out", "gelu.out", "silu.out"), 512),
    **dict.fromkeys(("add.out", "mul.out", "div.out", "maximum.out"), 512),
    SUM: 1024,
    SORT: 64,
    PRODUCT: 192,
}
"""Extents of square matrices that are not `SIDE`. Calls take 30 to 200 us: PyTorch's timer has up
to 1 us of its own where it chooses one call a sample, and would be apart by that in shorter ones;
what a profiler of kernels leaves out is lost in the noise of longer ones."""
TURNS = 31
"""Turns of each timer: the interval of the median is then some 13 of 31 ratios wide."""
BLOCK_S = 0.05
"""Least seconds of a turn, of either timer."""
TARGET = 0.02

UNARY = ("exp", "log", "sqrt", "tanh", "sigmoid", "erf", "sin", "softplus", "gelu", "silu")
BINARY = ("add", "mul", "div", "atan2", "maximum")
ALONG = {"softmax.int_out": 1, "cumsum.out": 1, SUM: (1,)}
"""Operators that work along a dimension, and which."""
DEVICE = "cpu(0)"


class Row(NamedTuple):
    """The result of one operator."""

    name: str
    opperf_us: float
    torch_us: float
    ratio: float
    low: float
    high: float
    fastest: float
    native: float
    native_low: float
    """Lower end of its 95 % interval."""


def cases() -> dict[str, Case]:
    """Returns the case of each operator."""
    from opperf.frameworks.torch import registry

    def squares(name: str, *parameters: str) -> dict[str, Any]:
        side = SIDES.get(name, SIDE)
        # Of negative numbers logarithms and roots are NaN, which takes ten times as long.
        return dict.fromkeys(parameters, TensorSpec((side, side), fill=Fill("uniform", 0.5, 1.5)))

    arguments: dict[str, dict[str, Any]] = {
        **{name: squares(name, "self", "out") for name in (f"{one}.out" for one in UNARY)},
        **{
            name: squares(name, "self", "other", "out") for name in (f"{one}.out" for one in BINARY)
        },
        **{name: squares(name, "self", "out") | {"dim": dim} for name, dim in ALONG.items()},
        PRODUCT: squares(PRODUCT, "self", "mat2", "out"),
        SORT: squares(SORT, "self", "values"),
    }
    indices = TensorSpec((SIDES[SORT], SIDES[SORT]), "int64", fill=Fill("integers", 0.0, 2.0))
    arguments[SORT]["indices"] = indices
    arguments[SUM]["out"] = TensorSpec((SIDES[SUM],))
    found = {}
    for name, own in arguments.items():
        entry = registry.find(name)
        assert entry is not None
        target: OperatorTarget = entry.operator.target
        found[name] = Case(target, own, Settings(device=DEVICE, profiler="python"))
    return found


def compare(name: str, case: Case) -> Row:
    """Returns an operator's medians by both timers, in turns."""
    from torch.utils.benchmark import Timer

    framework = load("torch")
    with framework.scope(case):
        call = PreparedCase(case, framework).call
        own, kernels = (profiler(one, framework, DEVICE) for one in ("python", "native"))
        other = Timer("call()", globals={"call": call}, num_threads=1)
        last = other.blocked_autorange(min_run_time=BLOCK_S)

        def by_opperf() -> float:
            # As many calls a sample as PyTorch's timer has, which chooses anew each time: times are
            # skewed, and a mean of several is larger than the median of one.
            (timed,) = own.trace([call], len(last.times), last.number_per_run)
            return statistics.median(timed.times) / 1e3

        def by_torch() -> float:
            nonlocal last
            last = other.blocked_autorange(min_run_time=BLOCK_S)
            return float(last.median * 1e6)

        def by_kernels() -> float:
            (timed,) = kernels.trace([call], len(last.times), last.number_per_run)
            return statistics.median(timed.times) / 1e3

        by_opperf()
        pairs, natives = [], []
        for _ in range(TURNS):
            order = [by_opperf, by_torch, by_kernels]
            random.shuffle(order)
            times = {one.__name__: one() for one in order}
            pairs.append((times["by_opperf"], times["by_torch"]))
            natives.append(times["by_kernels"] / times["by_opperf"])
    ratios = sorted(one / two for one, two in pairs)
    low, high = median_interval(ratios)
    return Row(
        name,
        statistics.median(one for one, _ in pairs),
        statistics.median(two for _, two in pairs),
        statistics.median(ratios),
        low,
        high,
        min(one for one, _ in pairs) / min(two for _, two in pairs),
        statistics.median(natives),
        median_interval(sorted(natives))[0],
    )


def main() -> None:
    """Prints a line for each operator, and whether all are within the target."""
    configure_heap("torch")
    load("torch").processes.set_threads(1)
    print(
        f"{'operator':20}{'opperf us':>12}{'torch us':>12}{'ratio':>8}"
        "  95 % interval   of the fastest  native"
    )
    rows = [compare(name, case) for name, case in cases().items()]
    for row in rows:
        print(
            f"{row.name:20}{row.opperf_us:12.2f}{row.torch_us:12.2f}{row.ratio:8.3f}  "
            f"{row.low:.3f} to {row.high:.3f}  {row.fastest:12.3f}{row.native:12.3f}"
        )
    within = [row for row in rows if row.low <= 1 + TARGET and row.high >= 1 - TARGET]
    middle = [row for row in rows if abs(row.ratio - 1) <= TARGET]
    fastest = [row for row in rows if abs(row.fastest - 1) <= TARGET]
    print(
        f"{len(middle)} of {len(rows)} medians within {TARGET:.0%}, {len(within)} intervals reach "
        f"into it, {len(fastest)} of the fastest turns' ratios are within it"
    )
    below = [row for row in rows if row.native <= 1]
    reaching = [row for row in rows if row.native_low <= 1]
    print(
        f"native at or below python for {len(below)} of {len(rows)}, {len(reaching)} intervals "
        "reach to it"
    )


if __name__ == "__main__":
    main()
