"""Runs opperf with the oldest and the newest version of each framework that it takes.

    python tools/check_versions.py [FRAMEWORK[:END]]... [--quick | --write | --install]
        [--max-configs N] [--wheel WHEEL] [--folder DIR]

`jax` is both ends, `jax:newest` one. Makes an environment for each version, and lists and measures
there every operator once at the small size; with `--quick` a few of them. Prints a table, and ends
with 1 if a command fails, an operator is excluded as opperf's code failed, or (`--quick`) a case is
not measured. `--write` puts the rows into opperf/frameworks/tested.json and docs/dependencies.md,
in the place of those of the same ends. With `--folder`, environments and run files remain there,
and what is there already is used: a sweep that was interrupted goes on.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from packaging.requirements import Requirement

from opperf.environments.building import is_version_of, version_of
from opperf.frameworks.installed import TABLE, SweptVersion
from opperf.model import Status
from opperf.results.runfile import read_run
from opperf.rules.faults import CASE, RULE

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]

PAGE = ROOT / "docs" / "dependencies.md"

BEGIN, END = "<!-- tested versions -->\n", "<!-- end of tested versions -->"
"""Marks around the table in that page."""

FRAMEWORKS = ("numpy", "jax", "torch", "mxnet")

ENDS = ("oldest", "newest")
"""Of the versions of a framework that opperf takes."""

OLDEST_PYTHON, NEWEST_PYTHON = "3.10", "3.13"
"""Those that opperf is for. An old release has no wheels for a new Python, and a new one none for
an old Python."""


class Replacement(NamedTuple):
    """A version in the place of that which follows from pyproject.toml."""

    requirement: str
    python: str
    why: str


INSTEAD = {
    ("torch", "oldest"): Replacement(
        "torch==2.13.0", "3.11", "of older ones an index has builds for CUDA alone, of gigabytes"
    ),
    ("torch", "newest"): Replacement(
        "torch==2.14.1", "3.11", "swept last; pip takes the build with CUDA, of gigabytes"
    ),
    ("mxnet", "oldest"): Replacement("mxnet==1.9.1", "3.11", "it has no newer NumPy below 2"),
    ("mxnet", "newest"): Replacement("mxnet==2.0.0b1", "3.11", "pip takes no beta unless named"),
}

QUICK = {
    "numpy": ("max", "add", "matmul", "sort"),
    "jax": ("jnp.max", "lax.dot_general", "lax.mul", "nn.softmax"),
    "torch": ("amax", "add", "mm", "conv2d"),
    "mxnet": ("max", "broadcast_add", "dot", "Convolution"),
}
"""A few operators of each: a reduction, a binary one, a product, and one of another kind."""

SWEEP = ("--size", "small", "-w", "0", "-r", "1", "--no-memory", "--profiler", "python")
"""One call of each pass: enough to see that an operator runs."""

VARIABLES = {"XLA_FLAGS": "--xla_backend_optimization_level=0"}
"""No figure of a sweep is about time, of which JAX needs most to optimise what is called once."""


class Scope(NamedTuple):
    """The operators and cases that are measured."""

    quick: bool = False
    """A few operators only."""
    configurations: int | None = None
    """Largest number of cases of each operator; None for all."""


class Installation(NamedTuple):
    """A version of a framework, and the environment for it."""

    framework: str
    end: str
    requirement: str
    python: str

    @property
    def name(self) -> str:
        return f"{self.framework}-{self.end}"


class Checked(NamedTuple):
    """The result of checking a version."""

    row: SweptVersion
    faults: tuple[str, ...]
    """Operators that are excluded as opperf's code failed, each with the reason."""
    unmeasured: tuple[str, ...]
    """Cases that failed, each with the reason."""


def declared(framework: str) -> Requirement:
    """Returns what pyproject.toml asks for of a framework."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"].get(framework, ())]
    return next(one for one in map(Requirement, asked) if one.name == framework)


def installations(words: Iterable[str]) -> list[Installation]:
    """Returns the versions that are asked for: `jax:newest`, or `jax` for both ends."""
    made = []
    for framework, _, asked in (word.partition(":") for word in words):
        (bound,) = (one for one in declared(framework).specifier if one.operator == ">=")
        ends = {
            "oldest": (f"{framework}=={bound.version}", OLDEST_PYTHON),
            "newest": (framework, NEWEST_PYTHON),
        }
        for end in [asked] if asked else ENDS:
            requirement, python = ends[end]
            instead = INSTEAD.get((framework, end))
            if instead is not None:
                requirement, python = instead.requirement, instead.python
            made.append(Installation(framework, end, requirement, python))
    return made


def find_python(version: str) -> str:
    """Returns a Python of that version on the path, or pyenv's. Ends the script without one."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [shutil.which(f"python{version}"), *pyenv.glob(f"versions/{version}.*/bin/python")]
    for python in filter(None, found):
        if is_version_of(version, version_of(python)):
            return str(python)
    sys.exit(f"Python {version}: not on this machine; install it, for example with pyenv")


def run(*command: str | Path, cwd: Path | None = None, code: Sequence[int] = (0,)) -> str:
    """Returns the standard output of a command. Raises `RuntimeError`, with what it said last, if
    it ends with another exit code."""
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | VARIABLES, capture_output=True, text=True
    )
    if done.returncode not in code:
        said = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        shown = " ".join(map(str, command))
        raise RuntimeError(f"{shown} ended with {done.returncode}:\n{said}")
    return done.stdout


def install(one: Installation, package: str, folder: Path) -> Path:
    """Returns the folder of the programs of an environment with opperf and the framework."""
    programs = folder / one.name / "bin"
    if not (programs / "opperf").exists():
        environment = folder / one.name
        run(find_python(one.python), "-m", "venv", "--without-pip", environment)
        extra = f"[{one.framework}]" if one.framework in ("mxnet", "jax") else ""
        # Of 3.10's own pip some dependencies take hours to resolve.
        pip = (sys.executable, "-m", "pip", "--python", environment, "install", "-q")
        packages = (f"opperf{extra} @ {package}", one.requirement)
        run(*pip, "--no-compile", "--disable-pip-version-check", *packages)
    return programs


def check(one: Installation, programs: Path, folder: Path, scope: Scope) -> Checked:
    """Lists and measures a framework's operators. Raises `RuntimeError` if a command fails."""
    opperf = programs / "opperf"
    of = ("--framework", one.framework)
    listed = json.loads(run(opperf, "list", *of, "-f", "json", "-o", "-", cwd=folder))
    file = folder / f"{one.name}{'-quick' if scope.quick else ''}.jsonl"
    # 1: some cases were not measured, which the table says.
    words = [*QUICK[one.framework]] if scope.quick else []
    if scope.configurations is not None:
        words += ["--max-configs", str(scope.configurations)]
    again = ("--resume", file) if file.exists() else ("run", *words, *of, *SWEEP, "-o", file)
    run(opperf, *again, "-f", "jsonl", cwd=folder, code=(0, 1))
    measured, _ = read_run(file)
    by_status = {status: [r for r in measured.records if r.status is status] for status in Status}
    unmeasured = [
        record
        for status in (Status.FAILED, Status.CRASHED, Status.TIMEOUT)
        for record in by_status[status]
    ]
    environment = measured.environment
    row = SweptVersion(
        framework=one.framework,
        end=one.end,
        version=environment.versions[one.framework],
        python=environment.python,
        operators=len(listed),
        measured=len({record.case.label for record in by_status[Status.OK]}),
        cases=len(by_status[Status.OK]),
        skipped=len(by_status[Status.SKIPPED]),
        failed=len(unmeasured),
        date=measured.header.started[:10],
        configurations=scope.configurations,
    )
    reasons = {entry["operator"]["name"]: entry.get("reason", "") for entry in listed}
    faults = {**reasons, **measured.header.excluded}
    return Checked(
        row,
        tuple(f"{name}: {why}" for name, why in faults.items() if is_fault(why)),
        tuple(f"{record.case.label}: {record.reason}" for record in unmeasured),
    )


def is_fault(reason: str) -> bool:
    """Whether an operator is excluded as opperf's code failed."""
    return bool(re.search(rf"^({RULE}|{CASE})|\bcaller \S+ failed: ", reason))


HEADERS = ("framework", "version", "Python", "operators", "measured", "cases", "skipped", "failed")


def markdown(rows: Iterable[SweptVersion]) -> str:
    """Returns the rows as a table of the documentation."""
    cells = [
        (one.framework, one.version, one.python, one.operators, one.measured, cases_text(one))
        + (one.skipped, one.failed, one.date)
        for one in rows
    ]
    lines = [(*HEADERS, "date"), ("---",) * 3 + ("--:",) * 5 + ("---",), *cells]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def cases_text(row: SweptVersion) -> str:
    """Returns how many cases were measured, and of how many at most of each operator."""
    most = row.configurations
    return f"{row.cases}{'' if most is None else f' (at most {most} each)'}"


def with_table(page: str, rows: Iterable[SweptVersion]) -> str:
    """Returns a page with the table between its marks."""
    before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    return f"{before}{BEGIN}\n{markdown(rows)}\n{END}{after}"


def write(rows: Sequence[SweptVersion]) -> None:
    """Puts rows into the package and the documentation."""
    made = {(row.framework, row.end) for row in rows}
    kept = msgspec.json.decode(TABLE.read_bytes(), type=tuple[SweptVersion, ...])
    together = [*(row for row in kept if (row.framework, row.end) not in made), *rows]
    order = [*itertools.product(FRAMEWORKS, ENDS)]
    ordered = sorted(together, key=lambda row: order.index((row.framework, row.end)))
    text = ",\n".join(msgspec.json.encode(row).decode() for row in ordered)
    TABLE.write_text(f"[\n{text}\n]\n")
    PAGE.write_text(with_table(PAGE.read_text(), ordered))


def main(arguments: Sequence[str] | None = None) -> int:
    """Checks the versions; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words = [*FRAMEWORKS, *map(":".join, itertools.product(FRAMEWORKS, ENDS))]
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK[:END]", choices=[*words, []])
    parser.add_argument("--quick", action="store_true", help="a few operators")
    parser.add_argument("--install", action="store_true", help="only make the environments")
    parser.add_argument("--max-configs", type=int, metavar="N", help="most cases of each operator")
    parser.add_argument("--write", action="store_true", help="keep the rows")
    parser.add_argument("--wheel", type=Path, help="opperf's; by default this checkout")
    parser.add_argument("--folder", type=Path, help="of environments and run files, which remain")
    asked = parser.parse_args(arguments)
    if asked.quick and asked.write:
        parser.error("--write keeps what all operators came to; omit --quick")
    scope = Scope(asked.quick, asked.max_configs)
    package = (asked.wheel or ROOT).resolve().as_uri()
    rows: list[SweptVersion] = []
    is_well = True
    with tempfile.TemporaryDirectory() as temporary:
        folder = (asked.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for one in installations(asked.frameworks or FRAMEWORKS):
            try:
                programs = install(one, package, folder)
                if asked.install:
                    continue
                found = check(one, programs, folder, scope)
            except RuntimeError as error:
                print(f"{one.name}: {error}", file=sys.stderr)
                is_well = False
                continue
            rows.append(found.row)
            is_well &= not found.faults and not (asked.quick and found.unmeasured)
            for line in (*found.faults, *found.unmeasured):
                print(f"{one.name}: {line}", file=sys.stderr)
    if rows:
        print(markdown(rows), end="")
    if asked.write:
        write(rows)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
