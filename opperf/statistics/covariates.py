"""Adjustment of figures for the speed of the core while they were measured.

Assumption: within a block, the logarithm of a figure is linear in the logarithms of the reference
work that was timed between its calls, with slopes of its own from 0 to `MOST_SLOPE`, and the arm
makes no difference to that work. What the line explains comes from the core and is subtracted; the
rest is the operator's.
Source: the analysis of covariance of R. A. Fisher, Statistical Methods for Research Workers (4th
ed., 1932), section 49.1; in controlled experiments A. Deng, Y. Xu, R. Kohavi and T. Walker,
Improving the Sensitivity of Online Controlled Experiments by Utilizing Pre-Experiment Data, WSDM
2013.
Breaks when the arms differ in the reference work itself, as under another interpreter or beside
threads that go on spinning: the difference would be subtracted from the operators. The blocks of A
and B are tested for that over all figures, and nothing is adjusted where the test finds it. A
difference too small for the test, times the slope, stays in the effects.

The adjusted value is the trimmed mean of the figure's calls and not their median. Where the core
changes its speed between calls, the means of the work and of the calls contain the same share of
each speed; a median jumps from one to the other. A figure of which the work explains nothing keeps
its median.

The slopes are fit to all processes that a session has so far, with the arms' effects removed first,
anew at each look. Fit to the same data, they leave too small a scatter, by a factor of
(freedom - slopes) / freedom of the variance, and are themselves uncertain, which adds a share of
some slopes / freedom: `Adjustment.inflation` restores both. For two slopes it is 1.27 at the first
of the default looks and 1.10 at the last. Forks of one process, which have a part of their noise in
common, have somewhat fewer degrees of freedom than are counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec
import numpy as np

from opperf.model import OWN
from opperf.statistics.blocks import BLOCK, SIGNS, Floats, by_block, cases_of, effects
from opperf.statistics.common_shift import median_effects
from opperf.statistics.data import PHASES, Phase, Replicate
from opperf.statistics.paired_t import estimate, p_beyond

LEAST_FREEDOM = 8
"""Fewest residual degrees of freedom of a figure: with fewer, a slope fit to chance alone may
remove half of the scatter. The shortest session, of two control blocks and two of A and B, has
nine with two slopes."""

ARM_EFFECT_LEVEL = 0.01
"""Level, over all looks, of the test for a difference of the work between the arms: the chance that
nothing is adjusted although there is none."""


MOST_SLOPE = 2.0
"""Largest slope. A core that slows the work by a share slows an operator by a share of the same
order, and never speeds it up. Without bounds a few disturbed processes can make slopes of ten and
more, and of opposite signs for two kinds of work that go together, by which a chance difference of
the work between the arms, of a percent, becomes one of the operator, of ten."""


class Adjustment(NamedTuple):
    """The result of adjusting figures for reference work."""

    replicates: tuple[Replicate, ...]
    explained: float | None
    """Share of the median figure's variance that the work explains; None if not adjusted."""
    note: str = ""
    """Why nothing was adjusted although work was timed."""
    inflation: Mapping[str, float] = MappingProxyType({})
    """Factor of a figure's variance that restores what fitting the slopes has changed."""


def adjust(replicates: Sequence[Replicate], level: float) -> Adjustment:
    """Subtracts what reference work explains from the replicates; returns them unchanged where none
    was timed, or where it differs between the arms by a test at that level."""
    names = {
        name for replicate in replicates for times in replicate.reference.values() for name in times
    }
    works = sorted(names - {OWN})
    if not works:
        return Adjustment(tuple(replicates), None)
    each = level / len(works)
    differing = [name for name in works if _has_arm_effect(replicates, name, each)]
    if differing:
        note = (
            f"not adjusted for the core's speed: the {differing[0]} work differs between the arms"
        )
        return Adjustment(tuple(replicates), None, note)
    cases = cases_of(replicates)
    phases = [_center(replicates, phase, cases, works) for phase in PHASES]
    slopes, explained, freedom = _slopes(phases, len(works))
    if np.isnan(explained).all():
        return Adjustment(tuple(replicates), None)
    of_case = dict(zip(cases, slopes, strict=True))
    inflation = (freedom + len(works)) / np.maximum(freedom - len(works), 1.0)
    return Adjustment(
        tuple(_subtract_work(replicate, works, of_case) for replicate in replicates),
        float(np.nanmedian(explained)),
        inflation={
            case: float(factor)
            for case, factor in zip(cases, inflation, strict=True)
            if of_case[case].any()
        },
    )


def _has_arm_effect(replicates: Iterable[Replicate], work: str, level: float) -> bool:
    """Whether the work itself took longer in one of the arms, over all blocks of A and B. In later
    looks, which lack decided cases, over the cases that are in all blocks."""
    of_work = [
        msgspec.structs.replace(
            replicate,
            values={
                case: times[work] for case, times in replicate.reference.items() if work in times
            },
        )
        for replicate in replicates
    ]
    (p,) = p_beyond(
        estimate(median_effects(effects(of_work, "comparison", cases_of(of_work)))), 0.0
    )
    return bool(p <= level)


class _Residuals(NamedTuple):
    """Deviations of figures and work from their means within the blocks of a phase, without the
    effects of the arms; 0 where a block is not complete."""

    values: Floats
    """By block, process and figure."""
    works: Floats
    """By block, process, figure and work."""
    freedom: Floats


def _center(
    replicates: Iterable[Replicate], phase: Phase, cases: Sequence[str], works: Sequence[str]
) -> _Residuals:
    blocks = [
        [members[position] for position in sorted(members)]
        for _, members in sorted(by_block(replicates, phase).items())
        if len(members) == BLOCK
    ]
    names = (OWN, *works)

    def logs_of(replicate: Replicate) -> list[list[float]]:
        times = (replicate.reference.get(case, {}) for case in cases)
        return [[found.get(name, np.nan) for name in names] for found in times]

    logs = np.array([[logs_of(replicate) for replicate in block] for block in blocks])
    logs = logs.reshape(len(blocks), BLOCK, len(cases), len(names))
    values, timed = logs[..., 0], logs[..., 1:]
    known = ~(np.isnan(values).any(axis=1) | np.isnan(timed).any(axis=(1, 3)))
    values = np.where(known[:, None], values - values.mean(axis=1, keepdims=True), 0.0)
    timed = np.where(known[:, None, :, None], timed - timed.mean(axis=1, keepdims=True), 0.0)
    n = known.sum(axis=0).astype(np.float64)
    freedom = (BLOCK - 1) * n
    if phase != "control":
        # In the control both arms are A, and there is no effect to remove.
        signs = np.array([[SIGNS[replicate.arm] for replicate in block] for block in blocks])
        signs = signs.reshape(len(blocks), BLOCK)[:, :, None] * known[:, None]
        size = np.maximum(BLOCK * n, 1.0)
        values = values - signs * ((signs * values).sum(axis=(0, 1)) / size)
        means = (signs[..., None] * timed).sum(axis=(0, 1)) / size[:, None]
        timed = timed - signs[..., None] * means
        freedom = freedom - (n > 0)
    return _Residuals(values, timed, freedom)


def _slopes(phases: Iterable[_Residuals], works: int) -> tuple[Floats, Floats, Floats]:
    """The slopes of each figure, 0 where the work explains none of its scatter; the explained share
    of its variance, NaN where there is none or too few processes; and the degrees of freedom that
    the slopes were fit with."""
    squares = (
        (
            np.einsum("bpfk,bpfl->fkl", phase.works, phase.works),
            np.einsum("bpfk,bpf->fk", phase.works, phase.values),
            np.einsum("bpf,bpf->f", phase.values, phase.values),
            phase.freedom,
        )
        for phase in phases
    )
    among, along, total, freedom = (sum(parts) for parts in zip(*squares, strict=True))
    slopes, gained = _bounded_slopes(among, along)
    rest = total - gained
    left = freedom - works
    with np.errstate(invalid="ignore", divide="ignore"):
        explained = 1.0 - (rest / left) / (total / freedom)
    explained[left < LEAST_FREEDOM] = np.nan
    slopes[~(explained > 0.0)] = 0.0
    return slopes, np.maximum(explained, 0.0), freedom


def _bounded_slopes(among: Floats, along: Floats) -> tuple[Floats, Floats]:
    """The slopes from 0 to `MOST_SLOPE` that leave the smallest squares, and the squares that they
    explain; by figure, from the squares and products of the work (`among`), and the products of
    work and figure (`along`)."""
    best, gained = np.zeros(along.shape), np.zeros(len(along))
    # At the optimum each slope is at one of its bounds, or free.
    for bounds in itertools.product((0.0, None, MOST_SLOPE), repeat=along.shape[1]):
        slopes = np.tile([bound or 0.0 for bound in bounds], (len(along), 1))
        free = [place for place, bound in enumerate(bounds) if bound is None]
        left = along - np.einsum("fkl,fl->fk", among, slopes)
        inverse = np.linalg.pinv(among[:, free][:, :, free], hermitian=True)
        slopes[:, free] = np.einsum("fkl,fl->fk", inverse, left[:, free])
        gain = np.einsum("fk,fk->f", slopes, 2 * along - np.einsum("fkl,fl->fk", among, slopes))
        allowed = ((slopes >= 0) & (slopes <= MOST_SLOPE)).all(axis=1)
        better = allowed & (gain > gained)
        best[better], gained[better] = slopes[better], gain[better]
    return best, gained


def _subtract_work(one: Replicate, works: Sequence[str], slopes: Mapping[str, Floats]) -> Replicate:
    """A replicate without what the work explains. A figure whose work was not timed is dropped
    where the others are adjusted, as it is not comparable with them."""
    values: dict[str, float] = {}
    for case, value in one.values.items():
        times = one.reference.get(case, {})
        if not slopes[case].any():
            values[case] = value
        elif all(name in times for name in (OWN, *works)):
            line = sum(slope * times[work] for slope, work in zip(slopes[case], works, strict=True))
            values[case] = float(times[OWN] - line)
    return msgspec.structs.replace(one, values=values)
