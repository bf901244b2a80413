"""The observations of one process of a program: rates, of which the first ones are warm-up, and
losses."""

from __future__ import annotations

import math
from typing import Any

from opperf.instruments.profilers.sampling import Settling
from opperf.model import Struct

TRAIN = "train"
"""Task of the observations that count; those of others, such as evaluation, do not."""


def read_number(value: Any) -> float | None:
    """Returns a number that JSON has; None for anything else."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number else None


class Observation(Struct, frozen=True):
    """The content of a data event that opperf reads; its stream has the rest."""

    rate: float | None = None
    unusable: bool = False
    """Whether it has a rate that is none: zero, negative, not finite, or no number."""
    unit: str = ""
    loss: float | None = None
    peak_bytes: int = 0
    """The most memory that the process has had, as it says itself."""


def read_observation(data: Any) -> Observation:
    """Returns what a data event says. Values of other types than they should have are ignored."""
    if not isinstance(data, dict):
        return Observation()
    peak = data.get("memory_peak")
    peak_bytes = peak if isinstance(peak, int) else 0
    if data.get("task", TRAIN) != TRAIN:
        return Observation(peak_bytes=peak_bytes)
    rate = read_number(data.get("rate"))
    is_usable = rate is not None and math.isfinite(rate) and rate > 0
    return Observation(
        rate if is_usable else None,
        # Voir gives none while it has too few times.
        not is_usable and data.get("rate") is not None,
        str(data.get("units", "")),
        read_number(data.get("loss")),
        peak_bytes,
    )


class Observations:
    """Takes observations as they come. The warm-up is over when rates no longer rise, as that of
    operators is, or after `warmup` of them, if that is a number; `skip` are omitted before it. When
    `stop` have followed, no more are wanted."""

    def __init__(self, stop: int, skip: int = 0, warmup: int | None = None) -> None:
        self._stop, self._skip = stop, skip
        self.rates: list[float] = []
        self.losses: list[float] = []
        self.unit = "items/s"
        self.unusable = 0
        """Number of rates that are none."""
        self.warmup: int | None = None if warmup is None else skip + warmup
        """Number of observations before those that count; None until that is known."""
        self._settling: Settling | None = None

    def add(self, seen: Observation) -> bool:
        """Takes an observation. Returns whether it has a rate."""
        if seen.loss is not None:
            self.losses.append(seen.loss)
        self.unusable += seen.unusable
        if seen.rate is None:
            return False
        self.unit = seen.unit or self.unit
        self.rates.append(seen.rate)
        if self.warmup is None and len(self.rates) > self._skip:
            # By the time of an item, so that batches of several sizes are comparable.
            if self._settling is None:
                self._settling = Settling(1 / seen.rate)
                return True
            self._settling.add(1 / seen.rate)
            if self._settling.is_over():
                self.warmup = len(self.rates)
        return True

    @property
    def counted(self) -> list[float]:
        """The rates after the warm-up, as many as are wanted."""
        if self.warmup is None:
            return []
        return self.rates[self.warmup : self.warmup + self._stop]

    @property
    def before(self) -> list[float]:
        """The rates of the warm-up."""
        return self.rates[: self.warmup]

    @property
    def is_complete(self) -> bool:
        return len(self.counted) >= self._stop
