"""Share of random one-token changes of the code that its own unit tests detect.

    python tools/mutate.py [FOLDER ...] [--sample N] [--seed S] [--jobs J] [--least SHARE]

Cosmic Ray finds the places and makes the changes, one at a time; the unit tests of the changed
module's folder run against each, those of the module itself first. Places are drawn at random, and
each gets one of the changes that are possible there, so that an arithmetic operator, which has
eleven, counts as much as a condition, which has one. Exits with 1 if fewer than `--least` of the
changes were noticed, and prints those that were not.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.testing import run_tests
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkResult

ROOT = Path(__file__).resolve().parents[1]

COPIED = ("opperf", "tests", "benchmarks", "docs", "pyproject.toml", "README.md")
"""Files that the tests of a copy of the tree need."""

PATIENCE, LEAST_S = 5, 10.0
"""Factor and seconds of the time limit over the unchanged tests' time, at which a change that makes
a loop endless counts as detected. Other work on the machine may slow the tests."""


@dataclass(frozen=True)
class Target:
    """Modules to change, and the tests that should detect it."""

    code: str
    tests: tuple[str, ...]
    left_alone: tuple[str, ...] = ()
    too_slow: tuple[str, ...] = ()
    """Tests in subfolders that are not run, as they start dozens of runs."""
    kinds_left_alone: tuple[str, ...] = ()
    """Kinds of change that are not made."""


PLANNED = "tests/integration/test_planned_cases.py"
"""The test that detects another choice of inputs."""

TARGETS = {
    "statistics": Target("opperf/statistics", ("tests/statistics",)),
    "comparison/files": Target("opperf/comparison/files", ("tests/comparison/files",)),
    "instruments": Target("opperf/instruments", ("tests/instruments",)),
    "results": Target("opperf/results", ("tests/results",)),
    "rules": Target(
        "opperf/rules",
        ("tests/rules",),
        ("opperf/rules/families", "opperf/rules/mxnet", "opperf/rules/numpy"),
    ),
    # A channel more is another choice of inputs and no fault: their numbers are data.
    "rules/families": Target(
        "opperf/rules/families",
        ("tests/rules/families", PLANNED, "tests/integration/values"),
        kinds_left_alone=("NumberReplacer",),
    ),
    "rules/mxnet": Target(
        "opperf/rules/mxnet",
        (PLANNED, "tests/integration/rules_mxnet", "tests/integration/values/test_mxnet.py"),
        kinds_left_alone=("NumberReplacer",),
    ),
    "rules/numpy": Target(
        "opperf/rules/numpy",
        (PLANNED, "tests/integration/numpy_framework", "tests/integration/values/test_numpy.py"),
        too_slow=("tests/integration/numpy_framework/test_sweep.py",),
        kinds_left_alone=("NumberReplacer",),
    ),
    "operations": Target(
        "opperf/operations", ("tests/operations",), ("opperf/operations/references",)
    ),
    # Both frameworks' values check the references.
    "operations/references": Target(
        "opperf/operations/references", ("tests/values", "tests/integration/values")
    ),
    "machine": Target("opperf/machine", ("tests/machine",)),
    "worker": Target("opperf/worker", ("tests/worker",), too_slow=("tests/worker/processes",)),
    "execution": Target("opperf/execution", ("tests/execution",)),
}

Place = tuple[str, tuple[int, int]]


def modules(target: Target) -> list[Path]:
    """The modules to change, relative to the root."""
    found = sorted(path.relative_to(ROOT) for path in (ROOT / target.code).rglob("*.py"))
    return [
        path
        for path in found
        if not any(path.is_relative_to(folder) for folder in target.left_alone)
    ]


def claims(path: Path) -> set[tuple[int, int]]:
    """Returns the places of `strict=True` in a module: it claims that two sequences are equally
    long, which no input of a test can make false."""
    return {
        (node.value.lineno, node.value.col_offset)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.keyword) and node.arg == "strict"
    }


def operators_of(tree: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Yields the nodes of arithmetic, those in annotations excluded."""
    annotations = {
        id(inner)
        for node in ast.walk(tree)
        for noted in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if noted is not None
        for inner in ast.walk(noted)
    }
    for node in ast.walk(tree):
        if isinstance(node, (ast.BinOp, ast.AugAssign)) and id(node) not in annotations:
            yield node


def spans(path: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Returns the places of a module's binary operators: from the end of the left operand to the
    start of the right one."""
    made = []
    for node in operators_of(ast.parse(path.read_text())):
        left, right = (
            (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
        )
        made.append(
            ((left.end_lineno or 0, left.end_col_offset or 0), (right.lineno, right.col_offset))
        )
    return made


def changes(target: Target, folder: Path) -> dict[Place, list[MutationSpec]]:
    """Every change that is possible, by its place."""
    found: dict[Place, list[MutationSpec]] = defaultdict(list)
    paths = modules(target)
    computed = {str(path): spans(ROOT / path) for path in paths}
    claimed = {str(path): claims(ROOT / path) for path in paths}
    with use_db(str(folder / "places.sqlite"), WorkDB.Mode.create) as db:
        init(paths, db, {})
        for item in db.work_items:
            (spec,) = item.mutations
            path, begin = str(spec.module_path), tuple(spec.start_pos)
            if "BinaryOperator" in spec.operator_name and not any(
                low <= begin < high for low, high in computed[path]
            ):
                # Stars of an unpacking, and bars of an annotation, are no arithmetic.
                continue
            kind = spec.operator_name.rpartition("/")[2]
            if begin not in claimed[path] and kind not in target.kinds_left_alone:
                found[path, begin].append(spec)
    return found


def test_command(target: Target, changed: Path) -> str:
    """The tests of a folder, those of the changed module first."""
    own = [
        str(path.relative_to(ROOT))
        for folder in target.tests
        for path in sorted((ROOT / folder).rglob(f"test_{changed.stem}.py"))
    ]
    # Tests of subfolders that are not changed are in subfolders of the same name.
    below = [Path(target.tests[0]) / Path(folder).name for folder in target.left_alone]
    ignored = [f"--ignore={folder}" for folder in (*below, *target.too_slow)]
    return " ".join(
        [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=no", "-p", "no:randomly"]
        + ["-p", "no:cacheprovider", *ignored, *own, *target.tests]
    )


def enter_copy(parent: str) -> None:
    """Makes a copy of the tree, which this process may change, its working directory."""
    folder = Path(tempfile.mkdtemp(dir=parent))
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    os.chdir(folder)


def duration(target: Target) -> float:
    """Returns the seconds of a folder's tests without changes. Ends the process if they fail."""
    begun = time.monotonic()
    outcome, output = run_tests(test_command(target, Path()), None)
    if outcome is not TestOutcome.SURVIVED:
        raise SystemExit(f"{', '.join(target.tests)} fail without any change:\n{output}")
    return time.monotonic() - begun


def noticed(spec: MutationSpec, command: str, timeout_s: float) -> WorkResult:
    """Tests one change in this process's copy of the tree, and returns the result."""
    return mutate_and_test([spec], command, timeout_s)


def drawn(target: Target, folder: Path, sample: int, seed: int) -> list[MutationSpec]:
    """A change at each of `sample` random places, or at every place if there are fewer."""
    possible = changes(target, folder)
    draw = random.Random(seed)
    places = draw.sample(sorted(possible), min(sample, len(possible)))
    print(f"  {len(places)} of {len(possible)} places", flush=True)
    return [draw.choice(possible[place]) for place in places]


def share_noticed(name: str, sample: int, seed: int, jobs: int) -> tuple[int, int]:
    """Returns the numbers of changes of a folder that were detected and tried. Prints the
    others."""
    target = TARGETS[name]
    print(f"{name}:", flush=True)
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        specs = drawn(target, Path(folder), sample, seed)
        with ProcessPoolExecutor(jobs, initializer=enter_copy, initargs=(folder,)) as pool:
            timeout_s = PATIENCE * pool.submit(duration, target).result() + LEAST_S
            pending = {
                pool.submit(noticed, spec, test_command(target, spec.module_path), timeout_s): spec
                for spec in specs
            }
            killed = 0
            for done in as_completed(pending):
                result, spec = done.result(), pending[done]
                if result.test_outcome is None:
                    raise SystemExit(f"{spec} could not be tried: {result.output}")
                killed += result.is_killed
                if not result.is_killed:
                    print(f"\n{spec.module_path}:{spec.start_pos[0]} not noticed\n{result.diff}")
    print(f"  {killed} of {len(specs)} noticed ({killed / len(specs):.0%})", flush=True)
    return killed, len(specs)


def main() -> int:
    """Runs the command line; 1 if too few changes were detected."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help=", ".join(TARGETS))
    parser.add_argument("--sample", type=int, default=100, help="changes of each folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--least", type=float, default=0.85, help="share to reach")
    options = parser.parse_args()
    if unknown := set(options.folders) - set(TARGETS):
        parser.error(
            f"no such folder: {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}"
        )
    os.chdir(ROOT)
    total = [
        share_noticed(name, options.sample, options.seed, options.jobs)
        for name in options.folders or TARGETS
    ]
    killed, tried = (sum(column) for column in zip(*total, strict=True))
    print(f"{killed} of {tried} changes noticed: {killed / tried:.1%}; {options.least:.0%} wanted")
    return killed < options.least * tried


if __name__ == "__main__":
    sys.exit(main())
