"""A run that was cut short goes on with the words that it was begun with, whatever they set."""

import json
import shlex
import sys

import click
import pytest

from opperf.commands.run import run
from opperf.errors import RunFileError
from opperf.requests import running
from opperf.results.runfile import read_run
from tests.commands.run.test_running import COUNTS, opperf  # noqa: F401
from tests.conftest import InProcessWorkers

INPUTS = "def inputs():\n    return [{'data': (8, 8)}, {'data': (16, 8)}]\n"

WORDS = {
    "ops": "--ops add",
    "categories": "--category unary",
    "namespaces": "--namespace nd",
    "tags": "",
    "variants": "",
    "exclude": "--exclude add",
    "device": "--ctx cpu",
    "dtype": "--dtype float64,float32",
    "output_format": "-f jsonl",
    "output_file": "-o run.jsonl",
    "columns": "--columns forward",
    "profiler": "-p python",
    "precision": "--precision 0.05",
    "max_time_s": "--max-time 0.1",
    "warmup": "-w 1",
    "runs": "-r 3",
    "quick": "--quick",
    "configurations": "--max-configs 1",
    "int64_tensor": "--int64-tensor off",
    "size": "--size small",
    "shapes": "--shape data=4x8",
    "values": "",
    "sweeps": "--sweep n=8..32:x2 --shape data=4xn",
    "input_function": "--inputs own.py:inputs",
    "imports": "--import own.py --ctx cpu",
    "cache": "--cache hot,cold",
    "mode": "--mode eager",
    "compile_cache": "",
    "autocast": "--autocast off",
    "memory_format": "--memory-format contiguous",
    "phase": "--phase train,predict",
    "grad": "--grad data",
    "threads": "--threads 1,2",
    "env": "--env A=1|2",
    "options": "--set fake.turbo=true|false",
    "interpreters": f"--python mine:{sys.executable}",
    "cpus": "--cpus none",
    "compile_ahead": "--no-compile-ahead",
    "executor": "--executor local",
    "no_backward": "--no-backward",
    "memory": "--no-memory",
    "verify": "--verify",
    "fuzz_shapes": "--fuzz-shapes 2",
    "least_elements": "--fuzz-shapes 2 --min-elements 16",
    "most_elements": "--fuzz-shapes 2 --max-elements 1000",
    "seed": "--seed 3",
    "rounds": "--rounds 2",
    "shuffle": "--shuffle",
    "timeout_s": "--timeout 30",
    "labels": "--label a=b",
    "total_partitions": "--total-partitions 1 --partition-id 0",
    "strict": "--strict",
    "quiet": "--quiet",
    "debug": "--debug",
    "framework": "--framework fake",
}
"""By option, words that set it; empty where this framework has no value of it."""

ELSEWHERE = {
    *("changed_since", "git_folder", "requirements", "locked", "batch_factor", "skip_views"),
    *("address", "nodes", "node", "every_node", "worker_cpus", "worker_gpus", "workers_per_node"),
    *("ncu", "ncu_bin", "ncu_args_file", "ncu_warmup", "ncu_iteration", "nsys", "nsys_bin"),
    *("nsys_args_file", "nsys_warmup", "nsys_iteration", "batch_cmd", "batch_size", "cuda_device"),
    *("replay", "steps", "subgraph", "gaps", "ranks", "skip", "delay_ms", "et", "profile"),
    *("callgrind_cache", "ids", "partition_id", "overwrite", "list_only", "dry_run", "resume"),
    *("chains", "retry"),
}
"""Options of repositories, environments, clusters, programs that profile, recorded calls and other
figures, which this framework has not, and those that go with no resumption."""


def cut_short(path):
    """Takes the end of a run file away: the last case's records and the closing line."""
    lines = path.read_bytes().splitlines(keepends=True)
    last = next(i for i, line in enumerate(lines) if b'"line":"record"' in line)
    path.write_bytes(b"".join(lines[:last]))


def test_every_option_is_in_the_table():
    names = {param.name for param in run.params if isinstance(param, click.Option)}
    assert WORDS.keys() | ELSEWHERE == names and not WORDS.keys() & ELSEWHERE


@pytest.mark.parametrize("option", [name for name, words in WORDS.items() if words])
def test_the_same_line_with_resume_goes_on(opperf, monkeypatch, option):  # noqa: F811
    """And whatever is asked of the framework is asked of a process like that of the cases."""
    (opperf.folder / "own.py").write_text(INPUTS)
    counts = [] if option in ("warmup", "runs", "quick") else COUNTS
    words = ["relu", *counts, *shlex.split(WORDS[option].replace("|", "\\|"))]
    words += [] if option == "output_format" else ["-f", "jsonl"]
    words += [] if option == "output_file" else ["-o", "run.jsonl"]
    framework = () if option == "framework" else ("--framework", "fake")
    assert opperf(*words, framework=framework)[0] == 0
    path = opperf.folder / "run.jsonl"
    whole, _ = read_run(path)
    cut_short(path)
    asked = []
    of = InProcessWorkers.of
    monkeypatch.setattr(
        InProcessWorkers,
        "of",
        lambda self, name, settings=None: asked.append(settings) or of(self, name, settings),
    )
    assert opperf(*words, "--resume", framework=framework)[0] == 0
    again, _ = read_run(path)
    assert [case.id for case in again.cases] == [case.id for case in whole.cases]
    assert {record.id for record in again.records} == {record.id for record in whole.records}
    imports = {case.settings.imports for case in whole.cases}
    assert {settings.imports for settings in asked} == imports


def test_what_is_interrupted_before_there_is_a_record_names_none(opperf, monkeypatch, capsys):  # noqa: F811
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "build", interrupt)
    with pytest.raises(click.exceptions.Abort):
        opperf("relu", *COUNTS, "-f", "jsonl", "-o", "run.jsonl")
    assert "Resume with" not in capsys.readouterr().err
    assert not (opperf.folder / "run.jsonl").exists()


def test_a_damaged_request_of_the_run_to_resume_is_refused(opperf):  # noqa: F811
    opperf("relu", *COUNTS, "-f", "jsonl", "-o", "run.jsonl")
    path = opperf.folder / "run.jsonl"
    cut_short(path)
    first, *rest = path.read_text().splitlines(keepends=True)
    header = json.loads(first)
    header["options"]["request"] = ["relu"]
    path.write_text("".join([json.dumps(header) + "\n", *rest]))
    with pytest.raises(RunFileError, match="the run file has no valid request"):
        opperf("--resume", "run.jsonl")
