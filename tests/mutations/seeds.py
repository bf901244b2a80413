"""Undamaged files of every kind that opperf reads, made by hand and always the same.

Each function writes what it names into a folder."""

from __future__ import annotations

import gzip
import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from opperf.environments.specification import Lock, LockedEnvironment
from opperf.history.bisection.results import VERSION, State, write_state
from opperf.history.builds import Recipe
from opperf.history.events import Event, Kind, Update
from opperf.history.store.adding import add_runs
from opperf.history.store.events import update_events
from opperf.history.store.opening import Store
from opperf.history.store.reading import find_project
from opperf.instruments.profilers.summary import summarise
from opperf.model import (
    SCHEMA_VERSION,
    Case,
    Closing,
    Header,
    Note,
    NoteCode,
    OperatorTarget,
    Run,
    Settings,
    Status,
    TensorSpec,
)
from opperf.reports.writing import runfile_text
from opperf.repository import Commit
from opperf.results.output import sidecar
from opperf.statistics.data import Verdict
from tests.comparison.ab.sessions import ENVIRONMENT as OF_FAKE
from tests.environments import make_environment
from tests.experiments.lines import DAY, MONDAY, value
from tests.formats import samples
from tests.formats.test_reading import write_database
from tests.history.sessions import judge, verdict, write_counts, write_session
from tests.history.submissions import entry, failure, sha, submission
from tests.recordings import HERE, measured, transformer
from tests.repositories import git
from tests.results.conftest import record, summary
from tests.suites.results.making import (
    facts_of,
    folder_of,
    rates_around,
    record_of,
    run_of,
    script_case,
    stream_lines,
    written,
)
from tests.traces.test_hostile_files import small_traces
from tests.verifications import FAILED, PASSED, verified

DATA = Path(__file__).parents[1] / "data"


def write(path: Path, content: object) -> Path:
    """Writes JSON, text or bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def made_run(factor: float = 1.0, framework: str = "numpy", id: str = "base") -> Run:
    """A run with records of each status, samples, notes, a verification, several passes."""
    environment = make_environment(framework, caches={"L2": "1 MB"}, gpus=({"name": "H100"},))
    records = []
    for number, (name, status) in enumerate(
        (("add", Status.OK), ("exp", Status.OK), ("sum", Status.OK), ("sort", Status.FAILED))
    ):
        case = Case(
            OperatorTarget(framework, name),
            {"x1": TensorSpec((16, 8)), "x2": TensorSpec((16, 8)), "axis": 0},
            Settings(profiler="python", runs=3),
            passes=("forward", "backward"),
            category="binary",
            count=number + 1,
            tags=("configuration 0",),
            point={"n": 16},
        )
        samples = [1000.0 * factor, 1010.0 * factor, 1020.0 * factor, 1005.0 * factor]
        is_ok = status is Status.OK
        made = record(name)
        changed = msgspec.structs.replace(
            made,
            case=case,
            id=case.id,
            status=status,
            reason="" if is_ok else "no kernel",
            summaries={
                "forward": summarise(samples, "ns"),
                "backward": summarise(samples, "ns"),
                "memory": summary(4096.0, "B"),
            }
            if is_ok
            else {},
            samples={"forward": samples} if is_ok else {},
            notes=(Note("forward", NoteCode.BUSY, "the machine was busy"),) if is_ok else (),
            moved_bytes=1024,
            environment=environment.id,
        )
        records.append(verified(changed, (PASSED, FAILED)[number % 2]) if is_ok else changed)
    options = {
        "command": "opperf run add",
        "selection": {"patterns": ["add"], "size": "small", "settings": {"runs": 3}},
        "axes": {"dtype": ["float32"], "device": ["cpu(0)"]},
    }
    header = Header(SCHEMA_VERSION, "2025-01-02T03:04:05+00:00", options, {"svd": "no rule"}, id=id)
    closing_line = Closing("2025-01-02T03:05:05+00:00", 60.0, {"ok": 3})
    cases = tuple(one.case for one in records)
    return Run(header, tuple(records), closing_line, {environment.id: environment}, cases)


def runs(folder: Path) -> None:
    """Two runs of the same cases, the second slower; a run that was not finished."""
    for name, factor in (("run", 1.0), ("other", 1.2)):
        write(folder / f"{name}.jsonl", runfile_text(made_run(factor, id=name)))
    text = runfile_text(made_run())
    write(folder / "part.jsonl", "".join(text.splitlines(keepends=True)[:-3]))


def in_repository(make: Callable[[Path], None]) -> Callable[[Path], None]:
    """Returns what writes files into a folder that is a repository with two commits."""

    def made(folder: Path) -> None:
        make(folder)
        git(folder, "init", "--quiet", "--template=", "--initial-branch=main")
        for message in ("first", "second"):
            git(folder, "commit", "--quiet", "--allow-empty", f"--message={message}")

    return made


def recordings(folder: Path) -> None:
    """A recording of a program, and the run that measured it."""
    recording = transformer(2)
    write(folder / "recording.jsonl", runfile_text(recording))
    times = {"addmm": 3.0, "gelu": 1.0, "mm": 5.0, "embedding": 2.0}
    write(folder / "measured.jsonl", runfile_text(measured(recording, times)))


def nodes(folder: Path) -> None:
    """A run of four nodes of a cluster."""
    records = []
    for number, node in enumerate("abcd"):
        for time, name in enumerate(("add", "exp"), start=1):
            one = record(name)
            case = msgspec.structs.replace(
                one.case, settings=msgspec.structs.replace(one.case.settings, node=node)
            )
            times = {"forward": summarise([1000.0 * time * (1 + number / 100)] * 9, "ns")}
            records.append(
                msgspec.structs.replace(
                    one, case=case, id=case.id, node=node, environment=HERE.id, summaries=times
                )
            )
    header = Header(SCHEMA_VERSION, "2026-01-02T03:04:05+00:00", {})
    cases = tuple(one.case for one in records)
    closing_line = Closing("2026-01-02T03:05:05+00:00", 60.0, {"ok": 8})
    run = Run(header, tuple(records), closing_line, {HERE.id: HERE}, cases)
    write(folder / "nodes.jsonl", runfile_text(run))


def sessions(folder: Path) -> None:
    """A session of `ab`, one that was not finished, and one of counts of instructions."""
    both = {"softmax": 1.1, "conv2d": 1.0}
    arms = dict.fromkeys("AB", OF_FAKE)
    write_session(folder / "ab.jsonl", both, environments=arms)
    write_session(folder / "ab_part.jsonl", both, blocks=2, closed=False, environments=arms)
    write_counts(folder / "counts.jsonl", (1000.0, 1100.0))


def results(folder: Path) -> None:
    """Results by operator, and the file beside them."""
    for name in ("results", "other_results"):
        write(
            folder / f"{name}.json",
            {
                "add": [
                    {
                        "inputs": {"lhs": [4, 4], "rhs": [4, 4]},
                        "avg_time_forward_add": 0.01,
                        "avg_time_backward_add": 0.02,
                        "max_storage_mem_alloc_cpu/0": 0.064,
                        "verification": {"code": "pass", "failed": "", "reason": ""},
                        "details": {"lhs": {"dtype": "float32"}},
                    }
                ],
                "exp": [{"inputs": {"data": [8]}, "avg_time_add": 0.5, "p50_time_exp": 0.4}],
            },
        )
        environment = json.loads(msgspec.json.encode(make_environment("numpy")))
        about = {"environment": environment, "started": "2025-01-02T03:04:05+00:00"}
        about |= {"options": {"selection": {}}, "ids": {"add": ["0123"]}, "output": f"{name}.json"}
        write(sidecar(folder / f"{name}.json"), about)


DUMP = """# callgrind format
version: 1
creator: by hand
cmd: python
part: 1

desc: Trigger: Client Request: opperf calls=10 overhead=50

positions: line
events: Ir

ob=(1) a.so
fl=(1) a.c
fn=(1) f
1 50
+3 7
cob=b.so
cfi=(2) b.c
cfn=(2) g
calls=3 4
5 900
fn=_PyEval_Vector
* 5
"""
"""Of callgrind's."""


def counts(folder: Path) -> None:
    """Runs with dumps of instructions beside them."""
    for name in ("a", "b"):
        run = made_run()
        write(folder / f"{name}.jsonl", runfile_text(run))
        for one in run.records:
            for of in ("forward", "backward"):
                write(folder / f"{name}.callgrind" / f"{one.id}.{of}.callgrind", DUMP)
        write(folder / f"{name}.dump", DUMP)


def experiments(folder: Path) -> None:
    """Records of models, as PyTorch/XLA's and PyTorch's runners write them, and a file of axes."""
    lines = [
        value(
            model, backend, (9.0, 2.0, 2.1 + day, 2.2), MONDAY + day * DAY, verification_code=code
        )
        for day in range(2)
        for model, code in (("bert", "PASS"), ("resnet18", "FAIL"))
        for backend in ("eager", "inductor", "openxla+dynamo")
    ]
    lines[0]["metrics"] |= {"single": 7, "trace_per_iter_time": [1.0, 2.0], "dynamo_counters": {}}
    lines[1]["metrics"] = {"error": "it failed"}
    write(folder / "output/xla.jsonl", "".join(f"{json.dumps(one)}\n" for one in lines))
    columns = "dev,name,batch_size,speedup,abs_latency,compilation_latency,compression_ratio,"
    columns += "eager_peak_mem,dynamo_peak_mem,calls_captured\n"
    rows = (
        "cuda,BertForMaskedLM,16,1.5,20.0,31.5,0.9,9.0,10.0,300\ncuda,OPT,4,0.0,0.0,0.0,0,0,0,0\n"
    )
    name = "inductor_huggingface_amp_training_cuda_performance.csv"
    write(folder / name, columns + rows)
    table = "timestamp,suite_name,model_name,test,median_total_time\n"
    table += "1700438400,torchbench,bert,eval,2.5\n"
    write(folder / "database.csv", table)
    write(
        folder / "axes.toml",
        'models = ["add"]\nmode = ["eager"]\nthreads = [1, 2]\n[env]\nX = ["1", "2"]\n',
    )
    write(folder / "axes.yaml", "models: [add]\nmode: [eager]\nthreads: [1, 2]\nenv: {X: [1]}\n")
    write(
        folder / "experiment.json",
        {"accelerator": "cpu", "xla": None, "dynamo": "inductor", "test": "eval", "batch_size": 4},
    )
    write(folder / "model.json", {"suite_name": "torchbench", "model_name": "bert"})


SUITE = """\
include: included.yaml
_scaled:
  install_group: scaled
  definition: bench
  weight: 2.0
  env: {packages: ["scales==1.0"], variables: {FACTORS: "two words"}}
  plan: {method: njobs, n: 1}
  requires_capabilities: ["len(nodes) >= 1"]
one:
  inherits: _scaled
  argv: {--n: 3, --batch-size: "auto_batch(50)", --lr: 0.1}
  voir: {options: {stop: 10, interval: "1s"}}
  max_duration: 60
  tags: [a, b]
matrix:
  inherits: _scaled
  matrix: {size: [1, 2], dtype: [float32]}
  job: {name: "m-{size}", inherits: _scaled, argv: {--n: "{size}"}}
operators:
  operators: [exp]
  settings: {framework: numpy, threads: 1}
off:
  operators: [exp]
  enabled: false
"""

SYSTEM = """\
system:
  arch: cpu
  docker_image: null
  options:
    sizer: {auto: true, capacity: 4GB, multiple: 8, config: sizes.yaml}
    gpu: {capacity: 8GB}
  nodes:
    - {name: manager, ip: 127.0.0.1, port: 22, user: me, main: true}
    - {name: node1, ip: 10.0.0.2, main: false, user: me}
multirun:
  runs:
    - {name: "c{sizer.capacity}", matrix: {sizer.capacity: [4GB, All]}}
"""

SIZES = "one: {model: {1: 1100 MiB, 8: 1.8 GB, 64: 7400000000}, optimized: 32}\n"


def suites(folder: Path) -> None:
    """Files of a suite, of its system and of sizes of batches."""
    write(folder / "suite.yaml", SUITE)
    write(
        folder / "included.yaml", "'*': {voir: {options: {warmup: 1}}}\nmore: {operators: [add]}\n"
    )
    write(folder / "system.yaml", SYSTEM)
    write(folder / "sizes.yaml", SIZES)
    write(folder / "bench/main.py", "")


def suite_results(folder: Path) -> None:
    """Runs of a suite, as run files, and as milabench's streams and folders."""
    for name, level in (("suite", 10.0), ("slower", 8.0)):
        records = [record_of(script_case(one), rates_around(level)) for one in ("first", "second")]
        benches = [facts_of(one, name=one.case.target.name, weight=2.0) for one in records]
        written(folder / f"{name}.jsonl", run_of(benches, records))
        gpus = [
            ({"0": {"memory": [1, 2], "load": 0.9, "temperature": 40}}, 100.0 + n) for n in range(3)
        ]
        lines = stream_lines(
            rates_around(level),
            losses=(3.0, 2.0),
            gpus=gpus,
            meta={"cpu": {"count": 2}, "pytorch": {}},
        )
        folder_of(folder / f"{name}.streams", **{"bench.0": lines, "bench.1": lines})
    shutil.copytree(DATA / "milabench", folder / "milabench")


def history(folder: Path) -> None:
    """A store with runs, changes, verdicts and failures; a project's file."""
    with Store(str(folder / "history.sqlite")) as store:
        for number in range(1, 9):
            factor = 1.1 if number >= 5 else 1.0
            entries = (
                entry(100.0 * factor, name="softmax", samples=(99.0, 100.0, 101.0)),
                entry(200.0, case="c1", name="conv2d"),
                entry(4096.0, case="c1", name="conv2d", metric="memory"),
                *([failure("no kernel", case="c2", name="exp")] if number == 3 else []),
            )
            add_runs(store, "p", [submission(number, *entries)])
        project = find_project(store)
        change = {"branch": "main", "environment": "e0", "ratio": 1.1, "before": 100.0}
        between = {"last_good": sha(4), "first_bad": sha(5)}
        events = [
            Event(Kind.SERIES, series=1, **between, **change),
            Event(Kind.MACHINE, count=3, **between, **change),
        ]
        update_events(store, project, "main", lambda known: map(Update, events))
        judge(store, verdict(Verdict.REGRESSED, 1.1, a=3, b=7), project="p")
    write(folder / "token", "0123456789abcdef0123456789abcdef\n")
    blessed = f'[[blessed]]\nwhy = "meant"\ncommit = "{sha(5)}"\noperator = "softmax"\n'
    write(folder / "opperf.toml", f'threshold = "2%"\nsame-within = "4%"\n{blessed}')


def imports(folder: Path) -> None:
    """Results of other tools."""
    for name, content in samples.MADE.items():
        write(folder / f"{name}.json", content)
    write(folder / "data.js", f"window.BENCHMARK_DATA = {json.dumps(samples.GITHUB)}")
    write(folder / "pytorch.jsonl", "".join(f"{json.dumps(one)}\n" for one in samples.PYTORCH))
    write(folder / "asv_old.json", samples.ASV_OLD)
    samples.write_asv(folder / "asv")
    shutil.copytree(DATA / "milabench/runs", folder / "milabench")
    write_database(folder / "milabench.sqlite")


def traces(folder: Path) -> None:
    """Execution traces of both forms, a profiler's, packed ones."""
    newer, older, kineto = small_traces()
    for name, text in (("newer", newer), ("older", older), ("kineto", kineto)):
        write(folder / f"{name}.json", text)
    write(folder / "packed.json.gz", gzip.compress(newer.encode(), mtime=0))
    with tarfile.open(folder / "packed.tar", "w") as archive:
        archive.add(folder / "newer.json", "t.json", filter=_same)
    (folder / "packed.tar.gz").write_bytes(
        gzip.compress((folder / "packed.tar").read_bytes(), mtime=0)
    )
    for rank in range(2):
        write(folder / f"ranks/rank-{rank}.json", newer)


def _same(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mtime = 0
    return entry


PARAM = {
    "torch.nn.Linear": {
        "build_iterator": "RangeConfigIterator",
        "config": [
            {
                "build": [
                    {
                        "args": [
                            {"type": "int", "value": 4},
                            {"type": "int", "value": [4, 8, 4], "__range__": ["value"]},
                        ]
                    }
                ],
                "input": [{"args": [{"type": "tensor", "dtype": "float", "shape": [4, 4]}]}],
            }
        ],
    },
    "aten::add": {
        "build_data_generator": "PyTorch:DefaultDataGenerator",
        "config": [
            {
                "build": [{"args": [{"type": "str", "value": "aten::add.Tensor"}]}],
                "input": [
                    {
                        "args": [{"type": "tensor", "dtype": "float", "shape": [2, 3]}] * 2,
                        "kwargs": {"alpha": {"type": "int", "value": 2}},
                    }
                ],
            }
        ],
    },
}

PARAM_RESULTS = [
    {
        "run_options": {"device": "cpu", "iteration": 1, "warmup": 1, "pass_type": "forward"},
        "sys_info": {},
        "start_time": "x",
    },
    {
        "op_name": "aten::add",
        "id": "0:0:0",
        "metric": {"cpu.time.microseconds": [1.0]},
        "device": "cpu",
        "config": {
            "build": {"args": [], "kwargs": {}},
            "input": {
                "args": [{"type": "tensor", "dtype": "float", "shape": [2, 3]}] * 2,
                "kwargs": {},
            },
        },
    },
    {"finish_time": "x"},
]

LOG = """Operator: aten.add.Tensor
cnt: 3, ((T([2, 3], f16), T([3], f16)), {'alpha': 2})
cnt: 1, ((T([128, 3, 64, 64], f32, stride=(12288, 1, 192, 3)), 1e-05), {})
Operator: aten.cat.default
cnt: 2, (([T([2, 3], f32), T([2, 3], f32)], -1), {})
Operator: aten.sum.dim_IntList
cnt: 5, ((T([2, 3], f32), [0, 1], True), {'dtype': torch.float32})
"""


def cases(folder: Path) -> None:
    """PARAM's configurations and results, a log of inputs."""
    write(folder / "param.json", PARAM)
    write(folder / "param_results.json", "".join(f"{json.dumps(line)}\n" for line in PARAM_RESULTS))
    write(folder / "log.txt", LOG)


ASKED = {"operators": {"names": ["add"]}, "good": "a", "bad": "b", "build": ["make"]}
"""Fields of the request of a bisection."""


def settings(folder: Path) -> None:
    """A project's file, a lock file, a token, the state of a bisection."""
    write(
        folder / "opperf.toml",
        'threshold = "2%"\nsame-within = "4%"\n[tolerance]\nmemory = "3%"\n'
        '[changed]\n"src/*" = ["add"]\n',
    )
    write(folder / "pyproject.toml", '[tool.opperf]\nthreshold = "2%"\n')
    lock = Lock(1, (LockedEnvironment("scales==1.0", ("scales==1.0",)),))
    write(folder / "token", "0123456789abcdef0123456789abcdef\n")
    write(folder / "x.lock.json", msgspec.json.encode(lock))
    commits = tuple(
        Commit(f"{n:040x}", author="A", date="2026", subject=f"Revision {n}") for n in range(4)
    )
    (folder / "bisect").mkdir()
    write_state(folder / "bisect", State(VERSION, "/repository", commits, Recipe(), asked=ASKED))


def with_settings(folder: Path) -> None:
    """Runs, and a project's file."""
    runs(folder)
    settings(folder)


def kept(folder: Path) -> None:
    """Runs that opperf keeps, in its data folder."""
    (folder / "made").mkdir()
    for made in (runs, sessions):
        made(folder / "made")
    for name, path in zip(("run", "ab"), KEPT, strict=True):
        write(folder / path, (folder / f"made/{name}.jsonl").read_bytes())


def judged(folder: Path) -> None:
    """A session, and a history."""
    sessions(folder)
    history(folder)


KEPT = tuple(f"data/runs/20250102T03040{n}000000-0123456{n}.jsonl" for n in range(2))


COMMIT = f"--commit {sha(3)} --branch main --project p"

OF_COMMIT = "--commit HEAD --branch main --project p --clean"

IMPORTS = tuple(samples.MADE)

RUNNER_CSV = "inductor_huggingface_amp_training_cuda_performance.csv"

MILABENCH_STREAM = "milabench/sedumoje.2023-03-24_135735.089747.benchio.0.data"
