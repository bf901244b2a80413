"""The commands that `kills.py` kills, what each writes, and the inputs that they read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import msgspec

from opperf.model import Run
from opperf.reports.formats import RUN, formats_of
from opperf.reports.writing import runfile_text
from opperf.results.runfile import read_run

OWN_LINES = (b"record", b"process")
"""Kinds of lines that measuring makes."""

QUICK = ("--framework", "numpy", "--size", "small", "--cpus", "none")
MEASURE = (*QUICK, "--max-configs", "2", "-w", "0", "-r", "3")
AB = (*QUICK, "--max-configs", "1", "--a", "env:X=1", "--b", "env:X=2", "--blocks", "2")
AB += ("--control-blocks", "2", "--case-time", "0.01", "--threads", "1", "--no-pace")


class Trial(NamedTuple):
    """A command, and what it writes."""

    command: str
    words: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    replaces: bool = False
    """The outputs are there before, and `--overwrite` is given."""
    resume: tuple[str, ...] = ()
    """The command that finishes the first output, a file of lines."""
    again: tuple[str, ...] = ()
    """What finishes it where itself, with `--overwrite` for outputs that are there, is refused."""
    store: bool = False
    overwrites: bool = True
    """The command has `--overwrite`."""
    codes: tuple[int, ...] = (0,)
    """Exit codes of one that was not killed."""
    later_codes: tuple[int, ...] = ()
    """Those of a repetition, where the killed one had done its work."""
    reader: tuple[str, ...] = ("report",)


def _of(line: str, *outputs: str, **options: object) -> Trial:
    """Returns the trial of a line, whose first two words are the command's if it is of a group."""
    words = tuple(line.split())
    grouped = words[0] in ("history", "suite")
    return Trial(" ".join(words[: 1 + grouped]), words, outputs, **options)  # type: ignore[arg-type]


def _written(line: str, number: int, *outputs: str, **options: object) -> Trial:
    """Returns the trial of a command that writes a new file, or by an odd number one in place of
    another."""
    words = f"{line} --overwrite" if number % 2 else line
    return _of(words, *outputs, replaces=bool(number % 2), **options)


def _runs() -> list[Trial]:
    """Returns the trials of commands that measure."""
    run, resume = f"run exp add {' '.join(MEASURE)}", ("run", "--resume")
    trials = []
    for name, format in formats_of(RUN).items():
        file = f"out{format.extension}"
        if name == "jsonl" or format.folder is not None:
            continue
        beside = ["out.environment.json"] if format.environment else []
        again = ("run", "--resume", "-f", name, "-o", file)
        one = f"{run} -f {name} -o {file}"
        trials.append(_written(one, len(trials), file, *beside, again=again))
    counted = f"run exp --profiler instructions --max-configs 1 {' '.join(QUICK)}"
    trials += [
        _of(f"{run} -o out.jsonl", "out.jsonl", resume=(*resume, "out.jsonl")),
        # `report` ranks times.
        _of(f"{counted} -o out.jsonl", "out.jsonl", resume=(*resume, "out.jsonl"),
            reader=("export", "--to", "md")),
        _of(f"{run} -o out.jsonl --overwrite", "out.jsonl", replaces=True,
            resume=(*resume, "out.jsonl")),
        _of("run --resume part.jsonl", "part.jsonl", resume=(*resume, "part.jsonl")),
        _of(f"experiment exp add {' '.join(QUICK)} -w 0 -r 3 -o out.jsonl", "out.jsonl",
            resume=("experiment", "--resume", "out.jsonl")),
        _of(f"ab exp {' '.join(AB)} --report out.jsonl", "out.jsonl",
            resume=("ab", "--resume", "out.jsonl", "--cpus", "none"),
            reader=("compare", "--from-ab"), codes=(0, 3)),
        _of(f"ab exp {' '.join(AB)} --report out.jsonl -o out.html", "out.html", codes=(0, 3),
            again=("ab", "exp", *AB, "--report", "out.jsonl", "-o", "out.html", "--overwrite")),
        _of("param -c param.json -o out.json", "out.json", overwrites=False),
        _of("record --overwrite -o out.jsonl step.py", "out.jsonl", replaces=True),
        _of("suite run suite.yaml --base base -o out.jsonl", "out.jsonl",
            resume=("suite", "run", "--resume", "out.jsonl", "suite.yaml", "--base", "base"),
            reader=("suite", "report")),
        _of("suite multirun suite.yaml --system system.yaml --base base -o runs",
            "runs/one.jsonl", again=("suite", "multirun", "suite.yaml", "--system", "system.yaml",
                                     "--base", "base", "-o", "runs", "--resume")),
    ]  # fmt: skip
    return trials


def _reports() -> list[Trial]:
    """Returns the trials of commands that write what they have read."""
    trials = []
    lines = {
        "report a.jsonl": ("html", "md", "csv", "json"),
        "compare a.jsonl b.jsonl --fail-on none": ("html", "xml", "txt"),
        "plot a.jsonl": ("svg", "png", "html"),
        "merge a.jsonl b.jsonl": ("jsonl",),
        "list --framework numpy": ("json",),
        "show exp --framework numpy": ("txt",),
        "coverage a.jsonl --framework numpy": ("json",),
        "trace trace.json": ("txt",),
        "explain counts.jsonl counts.jsonl exp": ("json",),
        "nodes nodes.jsonl": ("json",),
        "aggregate xla.jsonl --accelerator v100": ("csv", "svg"),
        "suite validate suite.jsonl": ("json",),
        "suite report suite.jsonl": ("md",),
        "suite slurm suite.yaml": ("sh",),
        "suite cluster system.yaml --no-check": ("yaml",),
        "history export --to github-action-benchmark --project given": ("js",),
        "history list --project given": ("json",),
        "history show #1 --project given": ("md",),
        "history plot --project given": ("svg",),
    }
    for line, extensions in lines.items():
        for extension in extensions:
            name = f"out.{extension}"
            trials.append(_written(f"{line} -o {name}", len(trials), name))
    for name in ("out.jsonl", "out.txt", "out.json"):
        trials.append(_written(f"trace trace.json --to {name}", len(trials), name))
    trials += [
        _written("explain counts.jsonl counts.jsonl exp --flame out.svg", 0, "out.svg"),
        _written("suite compare suite.jsonl suite.jsonl -o out.md", 1, "out.md", codes=(0, 3)),
        _written("compare --from-ab ab.jsonl -o out.json", 0, "out.json", codes=(0, 3)),
    ]
    for name, format in formats_of(RUN).items():
        if format.values is not None or name in ("csv", "md"):
            file = f"out{format.extension}"
            trials.append(_written(f"export a.jsonl --to {name} -o {file}", len(trials), file))
    trials += [
        _of("export suite.jsonl --to milabench -o out.milabench",
            "out.milabench/tiny.0.data", overwrites=False, later_codes=(2,)),
        _of("history export --to asv --project given -o out", "out/benchmarks.json",
            overwrites=False, later_codes=(2,)),
        _of("analyze xla", "xla/metric_report.csv", "xla/database.csv", overwrites=False),
        _of("runs --delete --all", overwrites=False),
        _of("suite install suite.yaml --base base --lock out.json", "out.json", overwrites=False),
        _of("suite prepare suite.yaml --base base", overwrites=False),
    ]  # fmt: skip
    return trials


def _stores() -> list[Trial]:
    """Returns the trials of commands that change a store."""
    lines = [
        "add a.jsonl b.jsonl --repository repository --commit HEAD~1 --clean",
        "import data.js --project other --branch main",
        "check --project given --fail-on nothing",
        "publish site",
        "bless 1 --project given --why x --in store",
        "confirm 1 --project given --why x",
        "alias #1 #2 --project given --why x",
        "gc --project given --until 2026-01-20",
    ]
    trials = [
        _of(f"history {line}", store=True, overwrites=False, later_codes=(1, 2)) for line in lines
    ]
    measured = "--framework numpy --cpus none --max-time 0.02"
    commit = "numerics:total --inputs inputs.py:inputs"
    trials += [
        _of(f"history run ALL {commit} --repository repository {measured}", store=True,
            overwrites=False),
        _of(f"bisect HEAD~2 HEAD --ops {commit} --repository repository --no-confirm "
            "--framework numpy --cpus none --control-blocks 2 --case-time 0.01 --threads 1 "
            "--folder out", "out/bisection.json", resume=("bisect", "--resume", "--folder", "out")),
    ]  # fmt: skip
    return trials


TRIALS = (*_runs(), *_reports(), *_stores())

WRITE_NOTHING = {
    "doctor": "it prints",
    "frameworks": "it prints",
    "serve": "it reads",
    "suite check": "it prints",
    "suite list": "it prints",
    "suite show": "it prints",
    "suite shell": "it is a shell of the user's",
    "history bisect": "it is bisect, then confirm",
}
"""Commands without a trial, each with the reason."""

STEP = """\
import torch
for _ in range(3):
    torch.exp(torch.ones(64, 64)).sum()
"""

PARAM = {
    "torch.add": {"config": [{"input": [{"args": [
        {"type": "tensor", "dtype": "float", "shape": [64, 64]}, {"type": "int", "value": 3}
    ]}]}]}
}  # fmt: skip

SUITE = """\
tiny:
  definition: tiny
  voir: {options: {stop: 5, interval: 10s}}
  max_duration: 60
  max_configs: 1
exp:
  operators: [exp]
  framework: numpy
  size: small
"""

PROGRAM = """\
import json, os, time
out = os.fdopen(int(os.environ["DATA_FD"]), "w", buffering=1)
for number in range(30):
    time.sleep(0.05)
    print(json.dumps({"task": "train", "rate": 5.0, "units": "items/s"}), file=out)
"""

SYSTEM = """\
system:
  sshkey: key
  nodes: [{name: one, ip: 127.0.0.1, main: true, user: me, port: 22}]
multirun:
  runs: [{name: one, matrix: {sizer.multiple: [1]}}]
"""

TRACE = """\
import torch
with torch.profiler.profile(record_shapes=True) as made:
    torch.mm(torch.ones(8, 8), torch.ones(8, 8)).relu()
made.export_chrome_trace("trace.json")
"""


def _pushes() -> dict[str, object]:
    """Returns data of github-action-benchmark's page: a loss after forty commits."""
    entries = []
    for day in range(60):
        date = f"2026-{1 + day // 28:02}-{1 + day % 28:02}T03:04:05Z"
        author = {"name": "A", "email": "a@example.org", "username": "a"}
        commit = {"id": f"{day + 1:040x}", "message": "x", "timestamp": date, "author": author}
        value = (100 if day < 40 else 150) + day * 7 % 5 / 10
        benches = [{"name": f"Bench{one}", "value": value, "unit": "ns/op"} for one in "AB"]
        entries.append({"commit": commit, "date": 1.767e12 + day * 8.64e7, "tool": "go",
                        "benches": benches})  # fmt: skip
    return {"lastUpdate": 1.7e12, "repoUrl": "https://example.org/x", "entries": {"Go": entries}}


def _of_nodes(run: Run) -> Run:
    """Returns a run as that of four nodes."""
    records = []
    for node in ("one", "two", "three", "four"):
        for record in run.records:
            settings = msgspec.structs.replace(record.case.settings, node=node)
            case = msgspec.structs.replace(record.case, settings=settings)
            records.append(msgspec.structs.replace(record, case=case, id=case.id, node=node))
    cases = tuple(record.case for record in records)
    return msgspec.structs.replace(run, cases=cases, records=tuple(records))


def make_inputs(folder: Path) -> None:
    """Makes the folder that each trial has a copy of. Raises `CalledProcessError`."""
    folder.mkdir(parents=True)
    own = {"OPPERF_DATA": "data", "OPPERF_CACHE": "cache", "OPPERF_HISTORY": "store.sqlite"}
    variables = os.environ | {name: str(folder / path) for name, path in own.items()}

    def call(*words: str) -> None:
        done = subprocess.run(words, cwd=folder, env=variables, capture_output=True, text=True)
        if done.returncode not in (0, 3):  # 3: two blocks do not tell
            raise SystemExit(f"{' '.join(words)}: {done.stdout}{done.stderr}")

    def opperf(line: str) -> None:
        call(sys.executable, "-m", "opperf", *line.split())

    files = {
        "step.py": STEP,
        "param.json": json.dumps(PARAM),
        "suite.yaml": SUITE,
        "tiny/main.py": PROGRAM,
        "tiny/prepare.py": "",
        "key": "",
        "system.yaml": SYSTEM,
        "data.js": f"window.BENCHMARK_DATA = {json.dumps(_pushes())}",
        "inputs.py": "def inputs():\n    return [{'x': (64, 64)}]\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "key").chmod(0o600)
    (folder / "xla").mkdir()
    xla = Path(__file__).parents[2] / "tests" / "data" / "xla" / "v100.jsonl"
    shutil.copy(xla, folder / "xla.jsonl")
    shutil.copy(xla, folder / "xla")
    repository = folder / "repository"
    repository.mkdir()
    git = ("git", "-c", "user.name=someone", "-c", "user.email=someone@example.org", "-C")
    call("git", "init", "-q", "-b", "main", str(repository))
    for work in (1, 1, 40):
        text = f"def total(x):\n    for _ in range({work}):\n        y = x.sum() + {work}\n"
        (repository / "numerics.py").write_text(f"{text}    return y\n")
        call(*git, str(repository), "add", "-A")
        call(*git, str(repository), "commit", "-q", "--allow-empty", "-m", f"work {work}")
    for name in "ab":
        opperf(f"run exp add {' '.join(MEASURE)} -o {name}.jsonl")
    nodes = runfile_text(_of_nodes(read_run(folder / "a.jsonl")[0]))
    (folder / "nodes.jsonl").write_text(nodes)
    cut = (folder / "a.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "part.jsonl").write_bytes(b"".join(cut[:-3]))
    opperf(f"ab exp {' '.join(AB)} --report ab.jsonl")
    opperf(f"run exp --profiler instructions --max-configs 1 {' '.join(QUICK)} -o counts.jsonl")
    opperf("suite run suite.yaml --base base -o suite.jsonl")
    call(sys.executable, "-c", TRACE)
    opperf("history import data.js --project given --branch main")
    opperf("history check --project given --fail-on nothing")
    opperf("history add a.jsonl --repository repository --commit HEAD --clean")
