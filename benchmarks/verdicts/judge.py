"""Judges candidates that cheat, fail, and are honest: how many of each are judged so, and the time
of a verdict. `--only TEXT` judges those whose names have it; `--threads N`."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks.verdicts import cheats
from opperf.candidates.judge import Judge
from opperf.candidates.model import Candidate, Problem, Verdict
from opperf.candidates.sandbox import Limits

LIMITS = Limits(memory_bytes=2 << 30, disk_bytes=64 << 20, start_s=20, call_s=10)
"""For candidates that take milliseconds."""


def framework_of(case: cheats.Case) -> str:
    return "numpy" if "import numpy" in cheats.PROBLEMS[case.problem.split()[0]] else "torch"


def judged(judge: Judge, case: cheats.Case, folder: Path) -> Verdict:
    """The verdict on a case, whose files are written to a folder."""
    name, *trials = case.problem.split()
    imports = cheats.IMPORTS if framework_of(case) == "torch" else cheats.NUMPY_IMPORTS
    files = {}
    for file, source in (("problem", cheats.PROBLEMS[name]), ("candidate", case.source)):
        inside = folder / file
        inside.mkdir(exist_ok=True)
        files[file] = inside / f"{file}.py"
        files[file].write_text(imports + source)
    problem = Problem(
        name,
        framework_of(case),
        str(files["problem"]),
        tuple({key: int(value)} for key, _, value in (each.partition("=") for each in trials))
        or ({},),
    )
    return judge.verdict(problem, Candidate(case.name, str(files["candidate"])))


def is_found_out(case: cheats.Case, verdict: Verdict) -> bool:
    return verdict.status.value in case.statuses.split() and case.reason in verdict.reason


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    groups = {"cheats": cheats.CHEATS, "failures": cheats.FAILURES, "honest": cheats.HONEST}
    judges = {name: Judge(name, LIMITS, threads=given.threads) for name in ("numpy", "torch")}
    taken: list[float] = []
    lines = []
    for group, cases in groups.items():
        right = 0
        chosen = [case for case in cases if given.only in case.name]
        for case in chosen:
            began = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                verdict = judged(judges[framework_of(case)], case, Path(folder))
            taken.append(time.monotonic() - began)
            is_right = is_found_out(case, verdict)
            right += is_right
            mark = "" if is_right else f"   NOT AS EXPECTED: {case.statuses} {case.reason!r}"
            found = f"{verdict.status.value:11} {case.name}: {verdict.reason}"
            print(f"{taken[-1]:5.1f} s  {found}{mark}", flush=True)
        lines.append(f"{group}: {right} of {len(chosen)} as expected")
    for judge in judges.values():
        judge.close()
    taken.sort()
    print(*lines, sep="\n")
    if taken:
        middle, longest = taken[len(taken) // 2], taken[-1]
        print(f"a verdict takes {middle:.1f} s in the median, {longest:.1f} s at most")


if __name__ == "__main__":
    main()
