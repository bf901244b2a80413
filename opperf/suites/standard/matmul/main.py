"""Peak of matrix products: square matrices, by PyTorch, else by NumPy."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from observing import observe

CPU, GPU = 1024, 8192
"""Extents that fill two cores for some tens of milliseconds, and a GPU."""


def of_torch(extent: int | None, dtype: str) -> tuple[Callable[[], object], int]:
    """Returns the step by PyTorch, on a GPU if there is one, and its extent."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    n = extent or (GPU if device == "cuda" else CPU)
    a, b = (torch.randn(n, n, device=device).to(getattr(torch, dtype)) for _ in range(2))
    out = torch.empty_like(a)

    def step() -> None:
        torch.mm(a, b, out=out)
        if device == "cuda":
            torch.cuda.synchronize()

    return step, n


def of_numpy(extent: int | None, dtype: str) -> tuple[Callable[[], object], int]:
    """Returns the step by NumPy, and its extent."""
    import numpy as np

    n = extent or CPU
    a, b = (np.random.default_rng(seed).random((n, n)).astype(dtype) for seed in (0, 1))
    out = np.empty_like(a)
    return (lambda: np.matmul(a, b, out=out)), n


def main() -> None:
    """Runs the bench."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--extent", type=int, help="by default 1024, and 8192 on a GPU")
    parser.add_argument("--dtype", default="float32")
    options = parser.parse_args()
    try:
        step, n = of_torch(options.extent, options.dtype)
    except ImportError:
        step, n = of_numpy(options.extent, options.dtype)
    observe(step, 2 * n**3 / 1e12, "TFLOP/s")


if __name__ == "__main__":
    main()
