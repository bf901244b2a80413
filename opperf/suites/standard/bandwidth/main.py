"""Bandwidth of memory: y += a * x of arrays that no cache holds, by PyTorch, else by NumPy."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from observing import observe

FACTOR = 1.5

BYTES_MOVED = 3 * 4
"""For each element of float32: x and y are read, and y is written."""


def of_torch(elements: int) -> Callable[[], object]:
    """Returns the step by PyTorch, on a GPU if there is one."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    x, y = (torch.ones(elements, device=device) for _ in range(2))

    def step() -> None:
        y.add_(x, alpha=FACTOR)
        if device == "cuda":
            torch.cuda.synchronize()

    return step


def of_numpy(elements: int) -> Callable[[], object]:
    """Returns the step by NumPy."""
    import numpy as np

    x, y = (np.ones(elements, np.float32) for _ in range(2))
    # In pieces that stay in the cache between the product and the sum.
    size = 16384
    product = np.empty(size, np.float32)

    def step() -> None:
        for start in range(0, elements, size):
            own = product[: min(size, elements - start)]
            np.multiply(x[start : start + size], FACTOR, out=own)
            y[start : start + size] += own

    return step


def main() -> None:
    """Runs the bench."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=256, help="of each array")
    elements = parser.parse_args().megabytes * 2**20 // 4
    try:
        step = of_torch(elements)
    except ImportError:
        step = of_numpy(elements)
    observe(step, elements * BYTES_MOVED / 1e9, "GB/s")


if __name__ == "__main__":
    main()
