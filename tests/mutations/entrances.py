"""Everything that opperf reads: each command with each kind of file, setting and request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutations import seeds
from tests.mutations.mutating import DATABASE, GZIP, JSON, LINES, TEXT, Damage


@dataclass(frozen=True)
class Entrance:
    """A command and what of its input is damaged."""

    words: str
    """Of the command, in a folder with the files that `make` writes."""
    file: str
    """What is damaged: a file of the folder, `$NAME` for the value of a variable, `GET` for the
    path of a request to `opperf serve`."""
    make: Callable[[Path], None]
    kinds: Mapping[str, Damage] = field(default_factory=lambda: LINES)
    value: str = ""
    """Of the variable or the request, undamaged."""
    is_slow: bool = False
    """Whether the command takes seconds."""
    ends: str = ""
    """Of the line with which the command ends after it has read undamaged input, if it does."""

    @property
    def name(self) -> str:
        of = f" {self.value}" if self.file == "GET" or "://" in self.value else ""
        return f"{self.words} [{self.file}{of}]"


def _each(
    words: str,
    files: str,
    make: Callable[[Path], None],
    kinds: Mapping[str, Damage] = LINES,
    ends: str = "",
    is_slow: bool = False,
) -> list[Entrance]:
    """The entrances of a command for each of several files, in the place of `FILE` in its words."""
    return [
        Entrance(words.replace("FILE", file), file, make, kinds, ends=ends, is_slow=is_slow)
        for file in files.split()
    ]


MEASURED = "nothing is measured here"

ELSEWHERE = "was measured in another environment"


ROUTES = (
    *("/api/projects", "/api/projects/p/runs?limit=2&offset=1", "/api/environments?limit=3"),
    *("/api/projects/p/series?text=soft+forw&branch=main", "/api/projects/p/series/1?branch=main"),
    *("/api/projects/p/events?state=open", "/api/projects/p/events/1", "/openapi.json", "/"),
)

IN_REPOSITORY = {
    make.__name__: seeds.in_repository(make) for make in (seeds.judged, seeds.runs, seeds.nodes)
}

RUN_FILES = "run.jsonl part.jsonl"
SESSIONS = "ab.jsonl counts.jsonl"
RESOLVING = "suite.yaml included.yaml system.yaml sizes.yaml"
OF_SUITE = "--system system.yaml --base base"

GROUPS: Mapping[str, list[Entrance]] = {
    "reports": [
        *_each("report FILE", RUN_FILES, seeds.runs),
        *_each("report FILE -o report.html", "run.jsonl", seeds.runs),
        *_each("report FILE -f json", "recording.jsonl measured.jsonl", seeds.recordings),
        *_each("report FILE -o report.html", "recording.jsonl measured.jsonl", seeds.recordings),
        *_each("report FILE", "ab.jsonl", seeds.sessions),
        *_each("show FILE", "run.jsonl", seeds.runs),
        *_each("show FILE", SESSIONS, seeds.sessions, ends="AB"),
        *_each("nodes FILE", "nodes.jsonl", seeds.nodes),
        *_each(
            "coverage FILE --framework numpy",
            "run.jsonl",
            seeds.runs,
            ends="is a run of numpy 1.2.3",
        ),
        *_each("plot FILE", "run.jsonl", seeds.runs),
        *_each("plot FILE other.jsonl -o plot.html", "run.jsonl", seeds.runs, is_slow=True),
        *_each("merge FILE other.jsonl -o merged.jsonl", RUN_FILES, seeds.runs),
        *(
            Entrance(f"export run.jsonl --to {form}", "run.jsonl", seeds.runs)
            for form in ("pytest-benchmark", "bencher", "github-action-benchmark", "md", "csv")
        ),
        *_each("export FILE --to json", "recording.jsonl", seeds.recordings),
        *_each("export FILE --to md", SESSIONS, seeds.sessions),
        Entrance("runs", seeds.KEPT[0], seeds.kept),
        Entrance("runs --json", seeds.KEPT[1], seeds.kept),
        Entrance("report @last", seeds.KEPT[0], seeds.kept),
    ],
    "comparisons": [
        *_each("compare FILE other.jsonl", RUN_FILES, seeds.runs),
        *_each("compare other.jsonl FILE -f json", RUN_FILES, seeds.runs),
        *_each("compare FILE other.jsonl -o page.html", "run.jsonl", seeds.runs),
        *_each("compare FILE other_results.json", "results.json", seeds.results, JSON),
        Entrance(
            "compare results.json other_results.json",
            "results.environment.json",
            seeds.results,
            JSON,
        ),
        *_each("compare --from-ab FILE", SESSIONS, seeds.sessions),
        *_each("compare --from-ab FILE -o page.html", SESSIONS, seeds.sessions),
        *_each("compare FILE ab.jsonl", "ab_part.jsonl", seeds.sessions),
        *_each("ab --resume FILE", "ab_part.jsonl ab.jsonl", seeds.sessions, ends=ELSEWHERE),
        Entrance("compare run.jsonl other.jsonl", "opperf.toml", seeds.with_settings, TEXT),
        Entrance("compare run.jsonl other.jsonl", "pyproject.toml", seeds.with_settings, TEXT),
        Entrance(
            "compare run.jsonl other.jsonl --config opperf.toml",
            "opperf.toml",
            seeds.with_settings,
            TEXT,
        ),
        *_each("explain FILE b.jsonl add", "a.jsonl", seeds.counts),
        *_each("explain FILE b.dump", "a.dump", seeds.counts, TEXT),
        *_each("explain a.dump FILE -f json", "b.dump", seeds.counts, TEXT),
        Entrance(
            "explain a.jsonl b.jsonl add", "a.callgrind/*.forward.callgrind", seeds.counts, TEXT
        ),
        Entrance(
            "bisect --resume --folder bisect",
            "bisect/bisection.json",
            seeds.settings,
            JSON,
            ends="no such folder",
        ),
    ],
    "cases": [
        *_each("run FILE --list --framework numpy", "run.jsonl", seeds.runs),
        *_each("run --resume FILE --list", "part.jsonl run.jsonl", seeds.runs),
        *_each("run --resume FILE", "run.jsonl part.jsonl", seeds.runs, ends=ELSEWHERE),
        *_each("run FILE --list", "recording.jsonl", seeds.recordings),
        *_each("run FILE --list", "newer.json older.json kineto.json", seeds.traces, JSON),
        *_each("run FILE --list", "packed.json.gz", seeds.traces, GZIP),
        *_each("run FILE --list", "param.json", seeds.cases, JSON),
        *_each("run FILE --list", "param_results.json", seeds.cases),
        *_each("run FILE --list", "log.txt", seeds.cases, TEXT),
        *_each("param -c FILE", "param.json", seeds.cases, JSON, ends=MEASURED),
        Entrance(
            "run add --framework numpy --list --with scales==1.0 --locked x.lock.json",
            *("x.lock.json", seeds.settings, JSON),
            ends=MEASURED,
        ),
    ],
    "traces": [
        *_each("trace FILE", "newer.json older.json kineto.json", seeds.traces, JSON),
        *_each("trace FILE -f json", "newer.json kineto.json", seeds.traces, JSON),
        *_each("trace FILE -o page.html", "newer.json kineto.json", seeds.traces, JSON),
        *_each(
            "trace FILE --to calls.jsonl", "newer.json older.json kineto.json", seeds.traces, JSON
        ),
        *_each("trace FILE --to calls.txt", "newer.json", seeds.traces, JSON),
        *_each("trace FILE kineto.json", "newer.json", seeds.traces, JSON),
        *_each("trace newer.json FILE", "kineto.json", seeds.traces, JSON),
        *_each("trace FILE", "packed.json.gz", seeds.traces, GZIP),
        *_each("trace FILE", "packed.tar", seeds.traces, TEXT),
        *_each("trace FILE", "packed.tar.gz", seeds.traces, TEXT),
        Entrance("trace ranks", "ranks/rank-1.json", seeds.traces, JSON),
    ],
    "experiments": [
        Entrance("aggregate output/xla.jsonl", "output/xla.jsonl", seeds.experiments),
        Entrance(
            "aggregate output/xla.jsonl -o page.html",
            "output/xla.jsonl",
            seeds.experiments,
            is_slow=True,
        ),
        Entrance("analyze output", "output/xla.jsonl", seeds.experiments),
        Entrance("analyze output --database database.csv", "database.csv", seeds.experiments, TEXT),
        *_each("aggregate FILE", seeds.RUNNER_CSV, seeds.experiments, TEXT),
        *_each("aggregate FILE", "run.jsonl", seeds.runs),
        *_each(
            "experiment --framework numpy --list --axes FILE",
            "axes.toml axes.yaml",
            seeds.experiments,
            TEXT,
        ),
        Entrance(
            "experiment --list --model-config model.json --experiment-config experiment.json",
            *("experiment.json", seeds.experiments, JSON),
            ends="suite torchbench is in a folder",
        ),
        Entrance(
            "experiment --list --model-config model.json --experiment-config experiment.json",
            *("model.json", seeds.experiments, JSON),
            ends="suite torchbench is in a folder",
        ),
        *_each("experiment --resume FILE", "part.jsonl", seeds.runs, ends="is not of experiments"),
    ],
    "suites": [
        *_each(f"suite check suite.yaml {OF_SUITE}", RESOLVING, seeds.suites, TEXT),
        *_each(f"suite list suite.yaml --json {OF_SUITE}", "suite.yaml", seeds.suites, TEXT),
        *_each(f"suite show suite.yaml one {OF_SUITE}", RESOLVING, seeds.suites, TEXT),
        *_each(f"suite slurm suite.yaml -o job.sh {OF_SUITE}", "suite.yaml", seeds.suites, TEXT),
        *_each("suite cluster FILE --no-check -o cluster.yaml", "system.yaml", seeds.suites, TEXT),
        *_each(
            f"suite multirun suite.yaml -o runs {OF_SUITE}",
            "system.yaml",
            seeds.suites,
            TEXT,
            MEASURED,
        ),
        *(
            Entrance(f"{words} {name}", file, seeds.suite_results)
            for words in (
                *("suite report", "suite report --as milabench", "suite report -f json"),
                *("suite validate", "suite validate --as milabench"),
                *(
                    "suite compare slower.jsonl --fail-on none",
                    "suite report --baseline slower.jsonl",
                    "suite report -o page.html",
                ),
            )
            for name, file in (
                ("suite.jsonl", "suite.jsonl"),
                ("suite.streams", "suite.streams/bench.0.data"),
            )
        ),
        *_each("suite validate FILE", "milabench/replays/loss.txt", seeds.suite_results),
        *_each("suite run FILE --list", "suite.yaml", seeds.suites, TEXT),
    ],
    "histories": [
        *_each(
            "history add FILE --commit-a HEAD~1 --commit-b HEAD --project p --store history.sqlite",
            "ab.jsonl",
            IN_REPOSITORY["judged"],
            ends="p has no figure of any case of this session",
        ),
        *_each(
            f"history add FILE {seeds.OF_COMMIT} --partial",
            "run.jsonl part.jsonl",
            IN_REPOSITORY["runs"],
        ),
        *_each(f"history add FILE {seeds.OF_COMMIT}", "nodes.jsonl", IN_REPOSITORY["nodes"]),
        *(
            Entrance(f"history import {name} {seeds.COMMIT} {more}", file, seeds.imports, kinds)
            for name, file, more, kinds in (
                *((f"{name}.json", f"{name}.json", "--machine m", JSON) for name in seeds.IMPORTS),
                ("data.js", "data.js", "", TEXT),
                ("pytorch.jsonl", "pytorch.jsonl", "", LINES),
                ("asv_old.json", "asv_old.json", "", JSON),
                ("asv", "asv/box/01234567-conda-py3.11-numpy.json", "", JSON),
                ("asv", "asv/box/machine.json", "", JSON),
                ("asv", "asv/benchmarks.json", "", JSON),
                ("milabench", seeds.MILABENCH_STREAM, "--machine m", LINES),
                ("milabench.sqlite", "milabench.sqlite", "", DATABASE),
            )
        ),
        *(
            Entrance(
                f"history {words} --store history.sqlite",
                *("history.sqlite", seeds.history, DATABASE),
                is_slow=words.endswith(".html"),
            )
            for words in (
                *("list", "list --what runs -f json", "show softmax", "show conv2d -f json"),
                *("check", "check -f json", "plot softmax", "plot softmax -o plot.html"),
                *(
                    "publish site",
                    "export --to bencher",
                    "export --to asv -o asv",
                    "gc --branch main",
                ),
                *("bless 1 --why x", "bless 1 --why x --in store", "confirm 1 --why x"),
                *("export --to github-action-benchmark", "alias c0 c1 --why x"),
            )
        ),
        Entrance("history check --store history.sqlite", "opperf.toml", seeds.history, TEXT),
        Entrance(
            "history bless 1 --why x --store history.sqlite", "opperf.toml", seeds.history, TEXT
        ),
    ],
    "serving": [
        *(Entrance("serve", "GET", seeds.history, TEXT, value=route) for route in ROUTES),
        *(
            Entrance(f"serve {route}", "history.sqlite", seeds.history, DATABASE, value=route)
            for route in ROUTES[:7]
        ),
        Entrance(
            "serve --store history.sqlite --port 0 --token-file token",
            "token",
            seeds.history,
            TEXT,
            ends=MEASURED,
        ),
    ],
    "variables": [
        Entrance("history list", "$OPPERF_HISTORY", seeds.history, TEXT, "history.sqlite"),
        Entrance(
            "history list",
            "$OPPERF_HISTORY",
            seeds.history,
            TEXT,
            "postgresql://me@localhost:1/p",
            ends="start the server",
        ),
        Entrance(
            "serve --port 0 --store history.sqlite",
            "$OPPERF_TOKEN",
            seeds.history,
            TEXT,
            "0123456789abcdef0123456789abcdef",
            ends=MEASURED,
        ),
        Entrance("runs", "$OPPERF_DATA", seeds.kept, TEXT, "data"),
        Entrance("report run.jsonl", "$OPPERF_DATA", seeds.runs, TEXT, "data"),
        Entrance("run add --framework numpy --list", "$OPPERF_CACHE", seeds.runs, TEXT, "cache"),
        Entrance(
            "run add --framework numpy --list --with scales==1.0",
            "$OPPERF_INSTALLER",
            seeds.runs,
            TEXT,
            "pip",
            ends=MEASURED,
        ),
        *(
            Entrance("run add --framework numpy --list", f"${name}", seeds.runs, TEXT, value)
            for name, value in (
                *(
                    ("OMP_NUM_THREADS", "2"),
                    ("MKL_NUM_THREADS", "2"),
                    ("OPENBLAS_NUM_THREADS", "2"),
                ),
                *(("CUDA_VISIBLE_DEVICES", "0,1"), ("COLUMNS", "80"), ("NO_COLOR", "1")),
                *(("OPPERF_USABLE_CPUS", "0-1"), ("OPPERF_PINNED_CPUS", "0-1")),
            )
        ),
        *(
            Entrance(
                f"history add run.jsonl {seeds.OF_COMMIT}".replace(" --branch main", ""),
                f"${name}",
                IN_REPOSITORY["runs"],
                TEXT,
                "main",
            )
            for name in ("GITHUB_HEAD_REF", "CI_COMMIT_REF_NAME")
        ),
        Entrance(
            "run run.jsonl --executor ray",
            "$RAY_ADDRESS",
            seeds.runs,
            TEXT,
            "ray://localhost:1",
            # A cluster of this machine starts where nothing is left of the address.
            is_slow=True,
            ends="no Ray cluster answers",
        ),
    ],
}
"""By what is read, so that the tests of a group share what they import."""

ALL = {one.name: one for group in GROUPS.values() for one in group}
