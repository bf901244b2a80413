"""The warm-up in stored rates of a program, by the criterion that programs have while they run."""

from __future__ import annotations

from collections.abc import Sequence

from opperf.programs.observations import Observation, Observations

PARTS = 2
"""Of a program that ended before it was warm, the first of so many equal parts is the warm-up."""


def warmup_of(rates: Sequence[float], skip: int = 0) -> int:
    """Returns how many of the first rates, all of them positive, are of the warm-up, which is
    looked for after `skip` of them."""
    observations = Observations(stop=len(rates), skip=skip)
    for rate in rates:
        observations.add(Observation(rate))
    found = observations.warmup
    # The last rate may be the one that ends it.
    return len(rates) // PARTS if found in (None, len(rates)) else found
