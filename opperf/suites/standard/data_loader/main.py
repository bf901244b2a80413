"""A data loader: images that processes decompress, normalise and pass on in batches."""

from __future__ import annotations

import argparse
import sys
import zlib
from collections import deque
from multiprocessing import get_context
from multiprocessing.pool import AsyncResult, Pool
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


class Loader:
    """Batches of a size by a pool, of which so many are begun before they are asked for."""

    def __init__(self, pool: Pool, size: int, ahead: int) -> None:
        self._pool, self._size = pool, size
        self._begun = deque(self._begin() for _ in range(ahead))

    def _begin(self) -> AsyncResult[np.ndarray]:
        return self._pool.apply_async(batch, (self._size,))

    def next(self) -> np.ndarray:
        """Returns the next batch."""
        self._begun.append(self._begin())
        return self._begun.popleft().get()

    def end(self) -> None:
        """Ends the processes once they have no batch: what is ended in the middle of one leaves the
        reader waiting for its rest."""
        for begun in self._begun:
            begun.get()
        self._pool.close()
        self._pool.join()


def main() -> None:
    """Runs the bench."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    # Threads of the main process would be lost in a fork.
    pool = get_context("spawn").Pool(options.workers)
    loader = Loader(pool, options.batch_size, AHEAD * options.workers)
    observe(loader.next, options.batch_size, "images/s")
    loader.end()


if __name__ == "__main__":
    main()
