"""A data loader: images that processes decompress, normalise and pass on in batches."""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from observing import observe

PIXELS, CHANNELS = 224, 3

AHEAD = 2
"""Batches that each process is ahead, as PyTorch's loader has it."""


def image() -> bytes:
    """Returns an image as a file of some kind has it: compressed."""
    rows = np.random.default_rng(0).integers(0, 256, (PIXELS, 1, CHANNELS), dtype=np.uint8)
    return zlib.compress(np.broadcast_to(rows, (PIXELS, PIXELS, CHANNELS)).tobytes(), 1)


IMAGE = image()


def batch(size: int) -> np.ndarray:
    """Returns a batch of images, float32 of shape (size, channels, pixels, pixels)."""
    found = np.empty((size, CHANNELS, PIXELS, PIXELS), np.float32)
    for place in found:
        pixels = np.frombuffer(zlib.decompress(IMAGE), np.uint8)
        shaped = pixels.reshape(PIXELS, PIXELS, CHANNELS).transpose(2, 0, 1)
        np.multiply(shaped, 1 / 255, out=place)
    return found


def batches(pool: Pool, size: int, ahead: int) -> Iterator[np.ndarray]:
    """Yields batches of a size, of which so many are begun before they are asked for."""
    waiting = [pool.apply_async(batch, (size,)) for _ in range(ahead)]
    while True:
        waiting.append(pool.apply_async(batch, (size,)))
        yield waiting.pop(0).get()


def main() -> None:
    """Runs the bench."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    # Threads of the main process would be lost in a fork.
    with get_context("spawn").Pool(options.workers) as pool:
        found = batches(pool, options.batch_size, AHEAD * options.workers)
        observe(lambda: next(found), options.batch_size, "images/s")


if __name__ == "__main__":
    main()
