"""What `opperf experiment` does with models of PyTorch, in this process: what is planned, measured,
written and refused."""

import json
import re
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from opperf.commands.run import experiment
from opperf.errors import OpperfError, RunFileError, UsageError
from opperf.execution.dumps import COUNTERS, STABLEHLO, XLA_METRICS, compilers_of
from opperf.frameworks import is_available, load
from opperf.frameworks.torch import COUNTERS_FILE
from opperf.model import Case, ModelTarget, Settings, Status
from opperf.models import base as suites_base
from opperf.results.runfile import read_run
from opperf.worker import answers, binding
from tests.commands.run.test_resuming import cut_short
from tests.conftest import InProcess, InProcessWorkers

pytestmark = pytest.mark.skipif(not is_available("torch"), reason="torch is not installed")

MODELS = Path(__file__).parents[1] / "models" / "torch_models.py"

COUNTS = ("-w", "0", "-r", "3", "--no-memory", "--cpus", "none")

BAD = """
import torch


def raises():
    def fail(x):
        raise ValueError("bad luck")

    return fail, (torch.ones(2),)


def broken():
    return 1 / 0


def without_inputs():
    return torch.nn.Linear(2, 2), ()
"""


@pytest.fixture
def opperf(monkeypatch, tmp_path, tmp_path_factory, capsys):
    """The command in a folder with models; its exit code, and what it printed on either stream."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("OPPERF_DATA", str(tmp_path_factory.mktemp("data")))
    (tmp_path / "nets.py").write_text(MODELS.read_text())
    (tmp_path / "bad.py").write_text(BAD)
    worker = InProcess(load("torch"))
    monkeypatch.setattr(
        "opperf.requests.running.Workers", lambda *given: InProcessWorkers(worker, [], *given)
    )

    def called(*arguments):
        monkeypatch.setattr(sys, "argv", ["opperf", "experiment", *arguments])
        code = experiment.main([*arguments], standalone_mode=False)
        return (code, *capsys.readouterr())

    called.worker, called.folder = worker, tmp_path
    return called


def measured(opperf, *names):
    """The labels and settings of what was measured, in order; an outlier is measured again."""
    made = [
        (case.label, *(getattr(case.settings, name) for name in names))
        for case in opperf.worker.measured
    ]
    return list(dict.fromkeys(made))


def test_models_are_measured_in_every_combination_model_by_model(opperf):
    code, out, _ = opperf(
        *("nets.py:make", "nets.py:Net(width=4)", "--phase", "predict,train"),
        *("--dtype", "float32,float64", "-o", "run.jsonl", *COUNTS),
    )
    assert code == 0
    assert measured(opperf, "dtype", "phase") == [
        (label, dtype, phase)
        for label in ("make", "Net width=4")
        for dtype in ("float32", "float64")
        for phase in ("predict", "train")
    ]
    assert out.startswith("8 cases of 2 models: cpu(0), float32 and float64, python profiler")
    assert "a process for each case" in out and "written to run.jsonl" in out
    run, _ = read_run(opperf.folder / "run.jsonl")
    assert {record.status for record in run.records} == {Status.OK}
    assert {"forward", "backward", "step", "optimizer"} <= run.records[1].summaries.keys()
    assert run.header.options["matrix"]["models"][0]["word"] == "nets.py:make"


def test_a_dry_run_prints_the_command_of_each_case_and_these_are_the_cases(opperf):
    words = ("nets.py:make", "nets.py:Net(width=4)", "--mode", "eager,compile", "--threads", "1")
    code, out, _ = opperf(*words, "--env", "A=1", "-r", "4", "--dry-run")
    _, *commands = out.splitlines()
    assert code == 0 and len(commands) == 4 and not opperf.worker.measured
    ids = [command.rpartition(" ")[2] for command in commands]
    for command, id in zip(commands, ids, strict=True):
        program, name, *alone = shlex.split(command)
        assert (program, name) == ("opperf", "experiment")
        _, said, _ = opperf(*alone, "--dry-run")
        assert said.splitlines()[1:] == [command] and id in command
    assert commands[2] == (
        "opperf experiment 'nets.py:Net(width=4)' --framework torch --runs 4 --threads 1 "
        f"--env A=1 --id {ids[2]}"
    )


def test_batch_sizes_are_an_axis(opperf):
    _, out, _ = opperf("nets.py:make", "--batch-size", "2,5", "--list")
    assert "make batch 2" in out and "make batch 5" in out and "2 cases of 2 models" in out
    with pytest.raises(UsageError, match="Net has no argument batch_size; omit --batch-size"):
        opperf("nets.py:Net", "--batch-size", "2", "--list")


def test_what_cannot_be_is_removed_and_said_by_rule(opperf):
    _, out, err = opperf("nets.py:make", "--mode", "eager,jit,graph", "--dry-run")
    assert "rule mode removed 1 case: torch has no mode jit" in err
    assert "rule graph-cpu removed 1 case: a CUDA graph is captured on a GPU" in err
    assert out.startswith("1 case of 1 model: ")
    with pytest.raises(UsageError, match="nothing to run: rule mode removed 1 case: torch has no"):
        opperf("nets.py:make", "--mode", "hybridize")


def test_the_words_of_pytorch_xla_are_aliases(opperf):
    words = ("--accelerator", "cpu", "--xla", "None", "--dynamo", "None,inductor", "--test", "eval")
    _, out, _ = opperf("nets.py:make", *words, "--repeat", "7", "--dry-run")
    _, eager, compiled = out.splitlines()
    assert "--runs 7" in eager and "--mode" not in eager and "--mode compile" in compiled
    opperf(
        *("nets.py:make", *words[:4], "--dynamo", "None", "--repeat", "2", "--test", "train"),
        *("--output-dirname", "here", "--timestamp", "1700500000", *COUNTS[:2], *COUNTS[4:]),
    )
    run, _ = read_run(opperf.folder / "here" / "results.jsonl")
    assert [record.case.settings.phase for record in run.records] == ["train"]
    assert run.header.labels == {"timestamp": "1700500000"}


AXES = """
models: nets.py:make
mode: [eager, compile]
threads: [1, all]
env:
  A: [1, true]
"""


def test_axes_come_from_a_file_which_the_command_line_overrides(opperf):
    pytest.importorskip("yaml")
    (opperf.folder / "axes.yaml").write_text(AXES)
    _, out, _ = opperf("--axes", "axes.yaml", "--dry-run")
    _, *commands = out.splitlines()
    assert len(commands) == 8 and out.startswith("8 cases of 1 model: ")
    assert sum("--env A=true" in command for command in commands) == 4
    _, out, _ = opperf("--axes", "axes.yaml", "--mode", "compile", "--dry-run")
    assert len(out.splitlines()) == 1 + 4 and out.count("--mode compile") == 4
    (opperf.folder / "axes.toml").write_text(
        'models = ["nets.py:make"]\n[set]\n"torch.set_flush_denormal" = [true, false]\n'
    )
    _, out, _ = opperf("--axes", "axes.toml", "--dry-run")
    assert out.count("--set torch.set_flush_denormal=") == 2


LAUGHS = "a: &a0 [x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 20)}]\n" for n in range(1, 9)
)


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("a.toml", 'mode = "eager"\nthread = 1\n', "a.toml:2: thread is no axis; did you mean thr"),
        ("a.toml", 'mode = ["eager"]\nthreads = "x"\n', "a.toml:2: threads: 'x' is not a number"),
        ("a.toml", "mode = [eager]", "a.toml is no TOML: Invalid value (at line 1, column 9)"),
        ("a.toml", "[env]\nA = 1\nB = {c = 1}", "a.toml:3: env.B has a value in brackets"),
        ("a.toml", 'env = "A=1"', "a.toml:1: env is a table of names and values"),
        ("a.toml", "mode = []", "a.toml:1: mode has no values"),
        ("a.toml", 'ctx = "cpu"\ndevice = "cpu"', "a.toml:2: device sets again what another key"),
        ("a.toml", "", "a.toml: it has no axes"),
        ("a.yaml", "mode: [eager\nphase: train", "a.yaml:2: no YAML: "),
        ("a.toml", "mode = " + "[" * 5000, "a.toml is no TOML: nested more than 100 deep"),
        ("a.yaml", "mode: " + "[" * 5000, "a.yaml:1: no YAML: "),
        ("a.yaml", LAUGHS, "a.yaml:5: no YAML: more than 200000 values, with those of aliases"),
    ],
)
def test_a_wrong_file_of_axes_is_told_by_line_and_key(opperf, name, text, message):
    if name.endswith("yaml"):
        pytest.importorskip("yaml")
    (opperf.folder / name).write_text(text)
    with pytest.raises(UsageError) as raised:
        opperf("--axes", name, "nets.py:make", "--dry-run")
    assert str(raised.value).startswith(message)


def test_one_experiment_of_the_runner_is_run(opperf):
    one = {"accelerator": "cpu", "xla": None, "dynamo": "inductor", "test": "train"}
    model = {"suite_name": "dummy", "model_name": "dummy"}
    (opperf.folder / "one.json").write_text(json.dumps(one | {"batch_size": 3}))
    words = ("--experiment-config", "one.json", "--model-config", json.dumps(model), "--dry-run")
    _, out, _ = opperf(*words)
    _, command = out.splitlines()
    assert command.startswith(
        "opperf experiment dummy:dummy --framework torch --batch-size 3 --mode compile --phase tr"
    )
    for text, message in (
        ("{", "--experiment-config: it is no JSON: line 1"),
        ('{"acelerator": "cpu"}', "unknown key 'acelerator'; did you mean accelerator"),
        ("absent.json", "neither an object of JSON nor a file of one"),
        ('{"dynamo": "inductr"}', "--dynamo inductr: not one of None, inductor, openxla"),
    ):
        with pytest.raises(UsageError, match=re.escape(message)):
            opperf("--experiment-config", text, *words[2:])


def test_flags_of_the_runner_are_settings(opperf):
    _, out, _ = opperf(
        *("nets.py:make", "--disable-tf32", "--matmul-precision", "high", "--randomize-input"),
        *("--filter-by-single-graph", "--iterations-per-run", "4", "--dry-run"),
    )
    command = out.splitlines()[1]
    for words in (
        "--set torch.backends.cuda.matmul.allow_tf32=false",
        "--set torch.backends.cudnn.allow_tf32=false",
        "--set torch.set_float32_matmul_precision=high",
        "--set torch.compile.fullgraph=true",
        "--iterations-per-run 4",
        "--randomize-input",
    ):
        assert words in command


@pytest.mark.parametrize(
    "words, message",
    [
        ("--save-ir-format hlo", "--save-ir-format hlo needs torch_xla: add --mode xla, or use"),
        ("--save-ir-format stablehlo", "--save-ir-format stablehlo needs torch_xla"),
        (
            "--dump-pytorch-xla-metrics --framework jax",
            "--dump-pytorch-xla-metrics needs torch_xla",
        ),
        ("--profile-xla-duration-ms 5", "has no effect without --profile-xla"),
    ],
)
def test_what_only_xla_has_is_refused_where_it_computes_nothing(opperf, words, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        opperf("nets.py:make", "--dry-run", *words.split())


def test_what_compilers_write_is_asked_for_by_their_variables():
    made = {
        (framework, mode): {
            variable
            for compiler in compilers_of(Case(ModelTarget(framework, "m"), {}, Settings(mode=mode)))
            if compiler.dump in (STABLEHLO, COUNTERS, XLA_METRICS)
            for variable in compiler.variables
        }
        for framework, mode in (
            *(("torch", "eager"), ("torch", "compile"), ("torch", "xla")),
            *(("torch", "compile:openxla"), ("jax", "jit")),
        )
    }
    of_xla = {"XLA_SAVE_TENSORS_FILE", "XLA_SAVE_TENSORS_FMT", "XLA_METRICS_FILE"}
    assert list(made.values()) == [
        *(set(), {COUNTERS_FILE}, of_xla, {COUNTERS_FILE, *of_xla}),
        {"JAX_DUMP_IR_TO", "JAX_DUMP_IR_MODES"},
    ]


def test_a_trace_has_calls_of_the_time_that_is_asked_for(opperf, monkeypatch):
    # A tenth of a second passes between two looks at the clock.
    clock = SimpleNamespace(monotonic=(tick / 10 for tick in range(100)).__next__)
    monkeypatch.setattr(answers, "time", clock)
    opperf(
        *("nets.py:make", "-o", "r.jsonl", "--profile-xla", "--profile-xla-duration-ms", "300"),
        *COUNTS,
    )
    (trace,) = opperf.folder.rglob("trace.json")
    events = json.loads(trace.read_text())["traceEvents"]
    # Three calls of two layers.
    assert sum(event.get("name") == "aten::linear" for event in events) == 3 * 2


def test_a_dump_that_no_case_has_is_said_to_be_missing(opperf):
    words = ("nets.py:make", "-o", "r.jsonl", "--dump-dynamo-counters", *COUNTS)
    _, out, err = opperf(*words)
    assert "no counters: no case has a compiler that writes it" in out + err


def test_traces_and_results_are_written_beside_the_records(opperf):
    words = (
        *("nets.py:make", "--mode", "eager,compile:aot_eager", "--phase", "train", "-o", "r.jsonl"),
        *("--dump-pytorch-profiles", "--save-output", "--collect-full-output", *COUNTS),
    )
    opperf(*words)
    # Those of an earlier run are replaced.
    _, out, _ = opperf(*words, "--overwrite")
    assert "dumps of 2 of 2 cases are in r.jsonl.dumps" in out
    run, _ = read_run(opperf.folder / "r.jsonl")
    for record in run.records:
        folder = opperf.folder / "r.jsonl.dumps" / f"make-{record.id}"
        trace = json.loads((folder / "trace.json").read_text())
        assert any("addmm" in str(event.get("name")) for event in trace["traceEvents"])
        results = {path.stem: np.load(path) for path in (folder / "results").iterdir()}
        output = results["output"].reshape(3, 4)
        of_labels = output[range(3), [0, 1, 2]] - np.log(np.exp(output).sum(1))
        np.testing.assert_allclose(results["loss"].item(), -of_labels.mean(), rtol=1e-5)
        assert "gradient-of-layers.0.weight" in results


def test_a_suite_that_one_of_the_frameworks_has_is_measured_with_that(opperf):
    code, out, err = opperf("dummy", "--framework", "torch,jax", "--dry-run")
    assert code == 0 and "suite dummy has no models of jax" in err
    assert out.count("--id") == out.count("--framework torch --id") == 1


def test_operators_and_run_files_are_suites_too(opperf):
    code, _, _ = opperf("nets.py:make", "neg", "-o", "run.jsonl", *COUNTS)
    labels = {case.label for case in opperf.worker.measured}
    assert code == 0 and labels == {"make", "neg"}
    code, out, _ = opperf("run.jsonl", "--dtype", "float64", "--dry-run")
    _, *commands = out.splitlines()
    assert code == 0 and commands and all("--dtype float64" in command for command in commands)
    assert {shlex.split(command)[2] for command in commands} == {"nets.py:make", "neg.default"}


def test_operators_are_selected_as_models_are(opperf):
    _, out, err = opperf(
        "neg", "relu", "-k", "RELU", "--mode", "eager,jit", "--size", "small", "--dry-run"
    )
    assert {shlex.split(command)[2] for command in out.splitlines()[1:]} == {"relu.default"}
    assert "rule mode removed" in err


def test_a_suite_without_its_package_is_one_skipped_record(opperf, monkeypatch):
    class Absent:
        frameworks, requirement = ("torch",), "absent-vision"

        def models(self, framework, folder):
            import absent_vision  # noqa: F401

        def build(self, framework, name, options):
            self.models(framework, options.folder)

    monkeypatch.setattr(suites_base, "find_suite", lambda name: Absent())
    monkeypatch.setattr(binding, "find_suite", lambda name: Absent())
    words = ("--mode", "eager", "--phase", "predict,train", "-o", "r.jsonl")
    code, _, _ = opperf("dummy", "nets.py:make", *words, *COUNTS)
    skipped, *others = read_run(opperf.folder / "r.jsonl")[0].records
    assert code == 0 and [record.status for record in others] == [Status.OK] * 2
    assert skipped.status is Status.SKIPPED
    assert skipped.reason.endswith("install it with: pip install absent-vision")


def test_what_rules_would_remove_is_measured_when_asked(opperf):
    _, out, _ = opperf("nets.py:make", "--mode", "graph", "--no-skip", "-o", "r.jsonl", *COUNTS)
    (record,) = read_run(opperf.folder / "r.jsonl")[0].records
    assert record.status is Status.SKIPPED and "needs a GPU" in record.reason


def test_one_that_fails_costs_itself_and_the_command_that_repeats_it_is_told(opperf):
    code, out, _ = opperf("bad.py:raises", "nets.py:make", "-o", "run.jsonl", *COUNTS)
    assert code == 0
    run, _ = read_run(opperf.folder / "run.jsonl")
    assert [record.status for record in run.records] == [Status.FAILED, Status.OK]
    after = out.partition("To repeat what failed:\n")[2].splitlines()[0]
    assert after.startswith("opperf experiment bad.py:raises --framework torch --warmup 0 --runs 3")
    assert after.endswith(f"--id {run.records[0].id}  # failed")


def test_models_of_two_frameworks_are_resumed_by_the_same_line(opperf):
    words = ["nets.py:make", "--framework", "jax,torch", "--ctx", "cpu", *COUNTS, "-o", "run.jsonl"]
    assert opperf(*words)[0] == 0
    cut_short(opperf.folder / "run.jsonl")
    assert opperf(*words, "--resume")[0] == 0


def test_an_interrupted_run_is_resumed_and_failures_tried_again_when_asked(opperf, monkeypatch):
    measure = opperf.worker.measure

    def until(case):
        if opperf.worker.measured:
            raise KeyboardInterrupt
        return measure(case)

    monkeypatch.setattr(opperf.worker, "measure", until)
    code, _, err = opperf("bad.py:raises", "nets.py:make", "-o", "run.jsonl", *COUNTS)
    assert code == 130 and "Resume with: opperf experiment --resume run.jsonl" in err
    monkeypatch.setattr(opperf.worker, "measure", measure)
    with pytest.raises(RunFileError, match="was made with --batch-size"):
        opperf("--resume", "run.jsonl", "--batch-size", "3")
    assert opperf("--resume", "run.jsonl")[0] == 0
    assert measured(opperf) == [("raises",), ("make",)]
    number = len(opperf.worker.measured)
    assert opperf("--resume", "run.jsonl", "--retry", "failed")[0] == 0
    assert [case.label for case in opperf.worker.measured[number:]] == ["raises"]


@pytest.mark.parametrize(
    "words, message",
    [
        ("bad.py:broken", "bad.py:13: bad.py:broken cannot be built: ZeroDivisionError"),
        ("bad.py:without_inputs", "bad.py:without_inputs: the model has no inputs"),
        ("nets.py:mak", "torch_models|nets.py has no 'mak'; did you mean make?"),
        ("absent.py:make", "absent.py: no such file"),
        ("absent:make", "No module named 'absent'"),
        ("nets.py:make --mode compil", "unknown mode 'compil'; did you mean compile?"),
        ("nets.py:make --dtype flot32", "unknown dtype 'flot32'; did you mean float32"),
        ("nets.py:make -k absent", "--filter, --exclude and the tiers leave none of 1 model: make"),
        ("nets.py:make -k (", "--filter '(' is no regular expression"),
        ("nets.py:make --suite-name absent", "unknown suite 'absent'"),
        ("--dtype float32", "name a suite, a function of models, operators or a file"),
        ("nets.py:make --accelerator cpu --ctx cpu", "--accelerator and --ctx set the same axis"),
        ("nets.py:make --repeat 3 --runs 3", "--repeat is --runs; use one of them"),
        ("nets.py:make --torch-xla2 extract_jax", "measure models of JAX with --framework jax"),
        ("nets.py:make --output-basename a -o b.jsonl", "--output-basename are -o; use one"),
    ],
)
def test_bad_input_is_one_line_before_anything_runs(opperf, words, message):
    with pytest.raises(OpperfError) as raised:
        opperf(*words.split(), *([] if "--runs" in words or "--repeat" in words else COUNTS))
    said = str(raised.value)
    assert raised.value.exit_code == 2 and "\n" not in said
    assert any(one in said for one in message.split("|")), said
    assert not opperf.worker.measured and not list(opperf.folder.glob("*.jsonl"))
