"""Compares the variance between forks of one process with that between fresh processes.

`opperf ab` forks the processes of an arm in a block from one worker. Forks have their parent's
memory layout in common. If they vary less than fresh processes, they hide a part of the variance,
and forks of one parent may not count as independent; if they vary as much, nothing is lost.

Starts several servers, takes several forks of each, and as many fresh processes, all for the same
small operators of MXNet. All workers run on one core, and visits of servers and fresh processes
come in random order, so that the machine's drift is common to both. Each visit's value of an
operator is the logarithm of its trimmed mean of calls less what the reference work explains: its
slopes are fitted to all visits, within servers and among fresh processes.

Prints for each operator the standard deviations, in percent, by a nested analysis of variance:
between servers, between forks of a server, and between fresh processes; and for the geometric mean
of all operators the ratios of variances with their 90 % intervals, by a bootstrap over servers and
over fresh processes. `forks/fresh` is the variance between forks of one server as a share of that
between fresh processes: below 1, forks hide a part. `(servers+forks)/fresh` is that of forks of
different servers, and 1 if servers are as different as fresh processes. Then the same without what
all operators of a process have in common, which on a loaded machine is mostly the load.

Run: python benchmarks/verdicts/fork_layouts.py [--servers N] [--forks N] [--layout heap|all]
     [--core N]

`--layout heap` gives each fork another layout of its data before its first case: a random amount of
memory in blocks of many sizes, half of them freed again, and mappings of random lengths. `all` also
places the framework's code on other physical pages, at the same addresses. That is what forks can
vary of what C. Curtsinger and E. D. Berger (STABILIZER, ASPLOS 2013) found to matter; the addresses
of code and the interpreter's hash seed stay as they are in the parent.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import mmap
import os
import random
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from opperf.instruments.profilers.reference_work import WORKS
from opperf.model import OWN, Case, FileTarget, Record, Settings, Status, TensorSpec
from opperf.sources.selecting import Selection
from opperf.worker.client import Worker

Floats = NDArray[np.float64]

OPERATORS = (
    *("relu", "softmax", "exp", "sum", "dot"),
    *("tanh", "broadcast_add", "transpose", "log", "sqrt"),
    *("sigmoid", "broadcast_mul", "max", "mean", "argmax"),
    *("slice_axis", "reverse", "clip", "square", "cumsum"),
)
"""Elementwise, reducing, moving and multiplying operators, of a few microseconds each."""

CASE_TIME_S = 0.05
"""Measured time of an operator in a process, as of a session."""

SETTINGS = Settings(
    device="cpu(0)", profiler="python", max_time_s=CASE_TIME_S, precision=0.005, memory=False
)

RESAMPLES = 2000
"""Bootstrap resamples: the bounds of an interval are then stable in their second digit."""

INTERVAL = (5.0, 95.0)
"""Percentiles of a 90 % interval."""

BLOCK_BYTES = 2**16
"""Limit on a block on the heap; larger ones are mappings."""

BLOCKS = 400
"""Of a fork, half of which are freed again: their holes are what later tensors fall into."""

MAPPING_PAGES = 512
"""Limit on a mapping: more pages than a second-level cache maps apart."""

KEPT: list[object] = []
"""Memory that a fork keeps."""

FRAMEWORK_CODE = "libmxnet.so"

PROT_READ_EXEC, MADV_NOHUGEPAGE = 5, 15
MREMAP_MAYMOVE, MREMAP_FIXED = 1, 2
"""From linux/mman.h."""


def vary_heap(data: object) -> object:
    """Varies the layout of this process's data; the function of a case."""
    draw = random.SystemRandom()
    blocks = [bytearray(1 + draw.randrange(BLOCK_BYTES)) for _ in range(BLOCKS)]
    draw.shuffle(blocks)
    KEPT.extend(blocks[: BLOCKS // 2])
    KEPT.extend(mmap.mmap(-1, mmap.PAGESIZE * (1 + draw.randrange(MAPPING_PAGES))) for _ in "four")
    return data


def vary_all(data: object) -> object:
    """Varies the layout of data, and the physical pages of the framework's code."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
    for begin, end in mappings_of(FRAMEWORK_CODE):
        size = end - begin
        copy = libc.mmap(
            None, ctypes.c_size_t(size), 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0
        )
        # Pages of the size that the file's have.
        libc.madvise(ctypes.c_void_p(copy), ctypes.c_size_t(size), MADV_NOHUGEPAGE)
        pages = list(range(0, size, mmap.PAGESIZE))
        random.SystemRandom().shuffle(pages)
        for page in pages:
            ctypes.memmove(copy + page, begin + page, mmap.PAGESIZE)
        libc.mprotect(ctypes.c_void_p(copy), ctypes.c_size_t(size), PROT_READ_EXEC)
        moved = libc.mremap(
            ctypes.c_void_p(copy),
            ctypes.c_size_t(size),
            ctypes.c_size_t(size),
            MREMAP_MAYMOVE | MREMAP_FIXED,
            ctypes.c_void_p(begin),
        )
        if moved != begin:
            raise OSError(ctypes.get_errno(), "the code could not be moved")
    return vary_heap(data)


def mappings_of(library: str) -> list[tuple[int, int]]:
    """Returns the addresses of a library's code in this process."""
    found = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, rights, *_, name = line.split()
        if "x" in rights and name.endswith(library):
            begin, end = (int(part, 16) for part in addresses.split("-"))
            found.append((begin, end))
    return found


LAYOUTS = {"heap": "vary_heap", "all": "vary_all"}
"""Functions that vary a fork's layout, by word."""


def layout_case(layout: str) -> Case:
    return Case(
        FileTarget("mxnet", __file__, LAYOUTS[layout]),
        {"data": TensorSpec((2,))},
        msgspec.structs.replace(SETTINGS, warmup=0, runs=1),
        ("forward",),
    )


class Visit(NamedTuple):
    """One pass of all operators in a process."""

    server: int | None
    """None for a fresh process."""
    logs: Floats
    """By operator: the logarithms of its own time and of each reference work."""


def make_worker() -> Worker:
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    return Worker("mxnet", Settings(memory=False), variables, reference_work=True)


def plan_cases(worker: Worker) -> list[Case]:
    """Returns a small case of each operator."""
    plan = worker.plan(
        Selection(
            patterns=OPERATORS, size="small", configurations=1, backward=False, settings=SETTINGS
        )
    )
    return list(plan.cases)


def visit(worker: Worker, cases: Sequence[Case], server: int | None, layout: str) -> Visit:
    """Measures the cases in random order in a fresh process of a worker. Raises `RuntimeError` for
    a case that fails."""
    worker.begin_process([SETTINGS.device])
    if layout:
        measure_one(worker, layout_case(layout))
    records = {
        case.id: measure_one(worker, case) for case in random.sample(list(cases), len(cases))
    }
    names = (OWN, *WORKS)
    logs = [
        [math.log(records[case.id].reference["forward"][name]) for name in names] for case in cases
    ]
    return Visit(server, np.array(logs))


def measure_one(worker: Worker, case: Case) -> Record:
    record = worker.measure(case)
    if record.status is not Status.OK:
        raise RuntimeError(f"{case.label}: {record.reason}")
    return record


def take(servers: int, forks: int, layout: str) -> tuple[list[str], list[Visit]]:
    """Returns the operators, and the visits of forks and fresh processes in random order."""
    order: list[int | None] = [server for server in range(servers) for _ in range(forks)]
    order += [None] * len(order)
    random.shuffle(order)
    visits = []
    with ExitStack() as stack:
        workers = [stack.enter_context(make_worker()) for _ in range(servers)]
        with make_worker() as planner:
            cases = plan_cases(planner)
        for worker in workers:
            # All servers are there from the beginning, so that none is older than its forks.
            worker.environment()
        for done, server in enumerate(order, 1):
            print(f"\r{done}/{len(order)} processes", end="", file=sys.stderr, flush=True)
            if server is None:
                with make_worker() as fresh:
                    fresh.environment()
                    visits.append(visit(fresh, cases, None, ""))
            else:
                visits.append(visit(workers[server], cases, server, layout))
    print(file=sys.stderr)
    return [case.label for case in cases], visits


def adjust(visits: Sequence[Visit]) -> Floats:
    """Returns each operator's times (rows) in all visits, as logarithms, less what the reference
    work explains within servers and among fresh processes."""
    logs = np.array([one.logs for one in visits])
    servers = np.array([-1 if one.server is None else one.server for one in visits])
    centered = logs.copy()
    for server in set(servers):
        centered[servers == server] -= logs[servers == server].mean(axis=0)
    values = []
    for operator in range(logs.shape[1]):
        own, works = centered[:, operator, 0], centered[:, operator, 1:]
        slopes, *_ = np.linalg.lstsq(works, own, rcond=None)
        values.append(logs[:, operator, 0] - logs[:, operator, 1:] @ slopes)
    return np.array(values)


class Variances(NamedTuple):
    """Variances of each operator's logarithms."""

    servers: Floats
    """Between servers: the component beside that between their forks; negative by chance."""
    forks: Floats
    """Between forks of a server."""
    fresh: Floats
    """Between fresh processes."""


def analyse(forked: Floats, fresh: Floats) -> Variances:
    """Returns the variances by a nested analysis of variance. `forked` has an axis for operators,
    one for servers and one for forks; `fresh` for operators and processes."""
    forks = forked.shape[2]
    within = forked.var(axis=2, ddof=1).mean(axis=1)
    among = forks * forked.mean(axis=2).var(axis=1, ddof=1)
    return Variances((among - within) / forks, within, fresh.var(axis=1, ddof=1))


RATIOS: dict[str, Callable[[Variances], Floats]] = {
    "forks/fresh": lambda found: found.forks / found.fresh,
    "(servers+forks)/fresh": lambda found: (found.servers + found.forks) / found.fresh,
}
"""Ratios of variances, each of which is 1 if forks vary as fresh processes do."""


def geometric_mean(values: Floats) -> float:
    return float(np.exp(np.log(values).mean()))


def bootstrap(forked: Floats, fresh: Floats) -> dict[str, tuple[float, float]]:
    """Returns the interval of each ratio's geometric mean over the operators, by resampling servers
    with all their forks, and fresh processes."""
    generator = np.random.default_rng(0)
    servers, processes = forked.shape[1], fresh.shape[1]
    found: dict[str, list[float]] = {name: [] for name in RATIOS}
    while len(found["forks/fresh"]) < RESAMPLES:
        chosen = generator.integers(servers, size=servers)
        if len(set(chosen)) == 1:
            # One server has no variance between servers.
            continue
        drawn = analyse(forked[:, chosen], fresh[:, generator.integers(processes, size=processes)])
        for name, ratio in RATIOS.items():
            found[name].append(geometric_mean(ratio(drawn)))
    return {
        name: (float(low), float(high))
        for name, (low, high) in ((n, np.percentile(v, INTERVAL)) for n, v in found.items())
    }


def report(labels: Sequence[str], forked: Floats, fresh: Floats) -> None:
    """Prints the table and the conclusion."""
    found = analyse(forked, fresh)
    percent = {
        name: 100 * np.sqrt(np.maximum(0.0, variance)) for name, variance in found._asdict().items()
    }
    print(f"{'standard deviation, %':22}" + "".join(f"{name:>10}" for name in percent))
    for row, label in enumerate(labels):
        print(f"{label:22}" + "".join(f"{one[row]:10.2f}" for one in percent.values()))
    # The roots of mean variances, as a component may be zero and have no geometric mean.
    means = (100 * math.sqrt(max(0.0, float(one.mean()))) for one in found)
    print(f"{'root mean square':22}" + "".join(f"{mean:10.2f}" for mean in means))
    bounds = bootstrap(forked, fresh)
    for name, ratio in RATIOS.items():
        low, high = bounds[name]
        print(f"{name}: {geometric_mean(ratio(found)):.2f} ({low:.2f} to {high:.2f})")
    low, high = bounds["forks/fresh"]
    if high < 1.0:
        print("Forks hide a part of the variance: they do not replace fresh processes.")
    elif low > 1.0:
        print("Forks vary more than fresh processes.")
    else:
        print("No difference found: forks vary as fresh processes do, within this interval.")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers", type=int, default=8)
    parser.add_argument("--forks", type=int, default=5, help="of each server")
    parser.add_argument("--layout", choices=tuple(LAYOUTS), default="")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    options = parser.parse_args()
    # Workers inherit it; this process waits while they measure.
    os.sched_setaffinity(0, {options.core})
    labels, visits = take(options.servers, options.forks, options.layout)
    adjusted = adjust(visits)
    for title, values in {
        "as measured": adjusted,
        "less the mean of all operators in the process": adjusted - adjusted.mean(axis=0),
    }.items():
        fresh = values[:, [one.server is None for one in visits]]
        of_server = ([one.server == server for one in visits] for server in range(options.servers))
        forked = np.stack([values[:, chosen] for chosen in of_server], axis=1)
        print(f"\n{title}")
        report(labels, forked, fresh)


if __name__ == "__main__":
    main()
