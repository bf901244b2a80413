"""Judges candidates that cheat, fail, and are honest: how many of each are judged so, and the time
of a verdict. Those of `makes.py` need further packages, and are judged where these are installed,
within the limits that users have: compilers take a minute. `--group` judges one group, `--only
TEXT` those whose names have it; `--threads N`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from benchmarks.verdicts import cheats, makes
from opperf.candidates.judge import LIMITS as USUAL
from opperf.candidates.judge import Judge
from opperf.candidates.model import Candidate, Problem, Verdict
from opperf.candidates.sandbox import Limits

LIMITS = Limits(memory_bytes=2 << 30, disk_bytes=64 << 20, start_s=20, call_s=10)
"""For candidates that take milliseconds."""


def framework_of(case: cheats.Case) -> str:
    return cheats.FRAMEWORKS.get(case.problem.split()[0], "torch")


def judged(judge: Judge, case: cheats.Case, folder: Path) -> Verdict:
    """The verdict on a case, whose files are written to a folder."""
    name, *trials = case.problem.split()
    imports = cheats.IMPORTS[framework_of(case)]
    texts = {
        "problem/problem.py": imports + cheats.PROBLEMS[name],
        "candidate/candidate.py": imports + case.source,
        **{f"candidate/{file}": text for file, text in case.beside.items()},
    }
    for file, text in texts.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(text)
    if case.build:
        command = case.build.format(python=sys.executable)
        subprocess.run(command, shell=True, check=True, cwd=folder / "candidate")
    problem = Problem(
        name,
        framework_of(case),
        str(folder / "problem/problem.py"),
        tuple({key: int(value)} for key, _, value in (each.partition("=") for each in trials))
        or ({},),
        differentiated=case.gradients,
    )
    return judge.verdict(problem, Candidate(case.name, str(folder / "candidate/candidate.py")))


def lacking(case: cheats.Case) -> list[str]:
    """The modules that a case needs and that are not installed."""
    needed = (framework_of(case), *case.packages.split())
    return [name for name in needed if find_spec(name) is None]


def is_found_out(case: cheats.Case, verdict: Verdict) -> bool:
    return verdict.status.value in case.statuses.split() and case.reason in verdict.reason


GROUPS = {
    "cheats": (cheats.CHEATS, LIMITS),
    "failures": (cheats.FAILURES, LIMITS),
    "honest": (cheats.HONEST, LIMITS),
    "honest, of many makes": (makes.MAKES, USUAL),
}
"""Cases, and the limits on each."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--group", choices=GROUPS)
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    judges: dict[tuple[str, Limits], Judge] = {}
    taken: list[float] = []
    lines = []
    for group in [given.group] if given.group else GROUPS:
        cases, limits = GROUPS[group]
        right = count = 0
        for case in (case for case in cases if given.only in case.name):
            if lacking(case):
                lines.append(f"not judged: {case.name}: {', '.join(lacking(case))} not installed")
                continue
            key = framework_of(case), limits
            if key not in judges:
                judges[key] = Judge(key[0], limits, threads=given.threads)
            count += 1
            with tempfile.TemporaryDirectory() as folder:
                began = time.monotonic()
                verdict = judged(judges[key], case, Path(folder))
                taken.append(time.monotonic() - began)
            is_right = is_found_out(case, verdict)
            right += is_right
            mark = "" if is_right else f"   NOT AS EXPECTED: {case.statuses} {case.reason!r}"
            found = f"{verdict.status.value:11} {case.name}: {verdict.reason}"
            print(f"{taken[-1]:5.1f} s  {found}{mark}", flush=True)
        lines.append(f"{group}: {right} of {count} as expected")
    for judge in judges.values():
        judge.close()
    taken.sort()
    print(*lines, sep="\n")
    if taken:
        middle, longest = taken[len(taken) // 2], taken[-1]
        print(f"a verdict takes {middle:.1f} s in the median, {longest:.1f} s at most")


if __name__ == "__main__":
    main()
