"""Speed of filling tensors, beside two other ways to do it.

For each kind of contents and each number of elements: the speed of opperf's code, of repeating
2**18 numbers (which copies, and so is a bound, but leaves a square matrix of 1024 rows with a
rank of 256), and of drawing every number; and the time of the first over that of the second. Each
is the best of `--repeats` turns, in which the three alternate.

Run: python benchmarks/cost/filling.py [--repeats N]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from opperf.frameworks import fill
from opperf.model import Fill, TensorSpec

REPEATED = 1 << 18

SIZES = (1 << 20, 1 << 22, 1 << 24)

GIGA = 1e9

Draw = Callable[[np.random.Generator, int], Any]

CONTENTS: dict[str, tuple[Fill, str, Draw]] = {
    "normal": (
        Fill("normal"),
        "float32",
        lambda rng, count: rng.normal(0.0, 1.0, count).astype("float32"),
    ),
    "uniform": (
        Fill("uniform", 0.5, 1.5),
        "float32",
        lambda rng, count: rng.uniform(0.5, 1.5, count).astype("float32"),
    ),
    "integers": (
        Fill("integers", 0, 1000),
        "int32",
        lambda rng, count: rng.integers(0, 1000, count).astype("int32"),
    ),
    "odds": (
        Fill("odds", 9, 1),
        "float32",
        lambda rng, count: (rng.random(count) * 10 < 1).astype("float32"),
    ),
}
"""By name: the fill, the dtype, and how to draw such numbers."""


def seconds(function: Callable[[], Any]) -> float:
    """Processor time of one call, which other processes change little; none uses threads."""
    begun = time.process_time()
    function()
    return time.process_time() - begun


def measure(name: str, count: int, repeats: int) -> tuple[float, float, float]:
    """Processor seconds of opperf's code, of repeating, and of drawing every number."""
    filled, dtype, draw = CONTENTS[name]
    code = fill.code(TensorSpec((count,), dtype, filled), 0)
    ways = (
        code.run,
        lambda: np.resize(draw(np.random.default_rng(0), min(REPEATED, count)), (count,)),
        lambda: draw(np.random.default_rng(0), count),
    )
    turns = [[seconds(way) for way in ways] for _ in range(repeats)]
    own, repeated, drawn = (min(column) for column in zip(*turns, strict=True))
    return own, repeated, drawn


def main() -> None:
    """Prints a row for each kind of contents and number of elements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    print(
        f"{'contents':<10}{'elements':>10}{'opperf':>16}{'repeated':>16}{'drawn':>16}{'ratio':>8}"
    )
    for name, (_, dtype, _) in CONTENTS.items():
        for count in SIZES:
            taken = measure(name, count, options.repeats)
            speeds = (count * np.dtype(dtype).itemsize / one / GIGA for one in taken)
            shown = "".join(f"{speed:>11.2f} GB/s" for speed in speeds)
            print(f"{name:<10}{count:>10}{shown}{taken[0] / taken[1]:>8.2f}")


if __name__ == "__main__":
    main()
