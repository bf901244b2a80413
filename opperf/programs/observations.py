"""The observations of one process of a program: rates, of which the first ones are warm-up, and
losses."""

from __future__ import annotations

import math
from typing import Any

from opperf.instruments.profilers.sampling import Settling

TRAIN = "train"
"""Task of the observations that count; those of others, such as evaluation, do not."""


def read_number(value: Any) -> float | None:
    """Returns a number that JSON has; None for anything else."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number else None


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
        """Number of rates that are none: zero, negative, not finite, or no number."""
        self.warmup: int | None = None if warmup is None else skip + warmup
        """Number of observations before those that count; None until that is known."""
        self.progress: tuple[float, float] | None = None
        self._settling: Settling | None = None

    def add(self, data: dict[str, Any]) -> bool:
        """Takes the content of a data event. Returns whether it had a rate that is one."""
        if data.get("task", TRAIN) != TRAIN:
            return False
        loss = read_number(data.get("loss"))
        if loss is not None:
            self.losses.append(loss)
        progress = data.get("progress")
        if isinstance(progress, list) and len(progress) == 2:
            done, total = map(read_number, progress)
            if done is not None and total:
                self.progress = done, total
        if "rate" not in data:
            return False
        rate = read_number(data["rate"])
        if rate is None or not math.isfinite(rate) or rate <= 0:
            # Voir gives none while it has too few times.
            self.unusable += data["rate"] is not None
            return False
        self.unit = str(data.get("units", self.unit))
        self._add_rate(rate)
        return True

    def _add_rate(self, rate: float) -> None:
        self.rates.append(rate)
        if self.warmup is not None or len(self.rates) <= self._skip:
            return
        # By the time of an item, so that batches of several sizes are comparable.
        if self._settling is None:
            self._settling = Settling(1 / rate)
            return
        self._settling.add(1 / rate)
        if self._settling.is_over():
            self.warmup = len(self.rates)

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
