"""Whether alternating the calls of two arms within a process pays, and whether forks of an import
do for fresh processes.

Identical arms, in forks of several imports: by figure, the scatter of the ratio within a process
and of a process's own level, and the part of the ratio's variance that lies between imports. Then
sessions of `opperf ab`, whose noise is drawn from what was measured, with two imports for each
stage: how many flag a case, with both arms equal, and how often a change of 5 % is found.

Run: python -m benchmarks.verdicts.alternating [--framework NAME] [--imports N] [--forks N]
"""

from __future__ import annotations

import argparse
import sys
import time

import msgspec
import numpy as np
from numpy.typing import NDArray

from opperf.comparison.ab.blocks import IMPORTS
from opperf.model import Case, Settings, Status
from opperf.sources.selecting import Selection
from opperf.statistics.blocks import Effects
from opperf.statistics.common_shift import fault
from opperf.statistics.data import Thresholds
from opperf.statistics.decisions import Decisions, look
from opperf.statistics.paired_t import estimate
from opperf.worker.client import Worker

Floats = NDArray[np.float64]

OPERATORS = {
    "numpy": "exp,add,tanh,sum,dot,sqrt",
    "torch": "exp,add,tanh,sum,mm,relu,softmax,sigmoid,mul,cumsum",
}
CASE_TIME_S = 0.05
CHANGE = 0.05
SESSIONS = 400


def cases_of(worker: Worker, names: str) -> list[Case]:
    """Returns a small case of each operator."""
    settings = Settings(
        threads=1, memory=False, profiler="python", max_time_s=CASE_TIME_S, precision=0.005
    )
    planned = worker.plan(
        Selection(patterns=tuple(names.split(",")), size="small", settings=settings)
    )
    return list({case.label: case for case in reversed(planned.cases)}.values())


def measure(framework: str, names: str, imports: int, forks: int) -> dict[str, Floats]:
    """Returns logarithms of the ratio and of the first arm's median, by figure, import and fork."""
    found: dict[str, list[list[tuple[float, float]]]] = {}
    for number in range(imports):
        with Worker(framework, Settings(threads=1, memory=False)) as worker:
            cases = cases_of(worker, names)
            for fork in range(forks):
                worker.begin_process(["cpu"], rehearsed=True)
                for case in cases:
                    # Two names for the same case.
                    other = msgspec.structs.replace(case, tags=("b",))
                    a, b = worker.alternate([case, other], f"{number} {fork}", {})
                    for metric in case.passes if a.status is Status.OK else ():
                        base, new = (np.log(own.samples[metric]) for own in (a, b))
                        of_import = found.setdefault(f"{case.label} {metric}", [])
                        if len(of_import) <= number:
                            of_import.append([])
                        of_import[number].append(
                            (float(np.median(new - base)), float(np.median(base)))
                        )
    return {figure: np.array(own) for figure, own in found.items()}


def between(values: Floats) -> tuple[float, float]:
    """Returns the variances within imports and between them; rows are imports."""
    within = float(values.var(axis=1, ddof=1).mean())
    means = float(values.mean(axis=1).var(ddof=1))
    return within, means - within / values.shape[1]


def session(rng: np.random.Generator, ratios: Floats, change: float) -> tuple[bool, Floats]:
    """Returns whether a session is valid, and its flags; `ratios` are by figure, import and fork.
    The noise of a process is drawn from what was measured around the mean of its import, and that
    of an import is normal: the mean of a few forks of few imports is none of a machine's."""
    thresholds = Thresholds()
    figures, _, forks = ratios.shape
    noise = ratios - ratios.mean(axis=2, keepdims=True)
    noise = noise.reshape(figures, -1) * np.sqrt(forks / (forks - 1))
    spread = np.sqrt([max(between(own)[1], 0.0) for own in ratios])

    def blocks(imports: Floats, first: int, number: int) -> Floats:
        chosen = rng.permutation(noise.shape[1])[:number]
        return np.asarray(imports[:, np.arange(first, first + number) % IMPORTS] + noise[:, chosen])

    def imports() -> Floats:
        return rng.normal(0.0, 1.0, (figures, IMPORTS)) * spread[:, None]

    pair = imports()
    control = _of(blocks(pair, 0, thresholds.control_blocks))
    measured, decisions = np.empty((figures, 0)), Decisions.none(figures)
    for n_blocks in thresholds.looks:
        first = measured.shape[1]
        new = blocks(imports() if first else pair, first, n_blocks - first)
        measured = np.concatenate([measured, new + change], axis=1)
        if not first and fault(control, _of(measured), thresholds):
            return False, decisions.changed
        look([decisions], [estimate(_of(measured), control)], thresholds)
        if decisions.decided.all():
            break
    return True, decisions.changed


def _of(values: Floats) -> Effects:
    return Effects(values, np.zeros(len(values)))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--framework", choices=tuple(OPERATORS), default="torch")
    parser.add_argument("--operators", default="")
    parser.add_argument("--imports", type=int, default=8)
    parser.add_argument("--forks", type=int, default=8)
    options = parser.parse_args()
    names, begun = options.operators or OPERATORS[options.framework], time.monotonic()
    found = measure(options.framework, names, options.imports, options.forks)
    print(f"{'figure':24}{'ratio, sd':>12}{'level, sd':>12}{'between imports, sd':>22}")
    for figure, values in found.items():
        ratio, level = values[..., 0], values[..., 1]
        _, share = between(ratio)
        spread = max(share, 0.0) ** 0.5
        print(f"{figure:24}{ratio.std(ddof=1):12.2%}{level.std(ddof=1):12.2%}{spread:22.2%}")
    rng = np.random.default_rng(1)
    ratios = np.array([values[..., 0] for values in found.values()])
    for title, change in (("nothing changed", 0.0), (f"{CHANGE:.0%} slower", np.log1p(CHANGE))):
        done = [session(rng, ratios, change) for _ in range(SESSIONS)]
        invalid = sum(not valid for valid, _ in done)
        flagged = sum(flags.any() for _, flags in done)
        share = float(np.mean([flags.mean() for _, flags in done]))
        print(
            f"{title}: {SESSIONS} sessions of {len(ratios)} figures, {flagged} with a flag, "
            f"{share:.1%} of the figures flagged, {invalid} invalid"
        )
    print(f"{time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
