"""What is observed of programs: small scripts, real processes."""

import builtins
import sys
from pathlib import Path

import pytest

from opperf.model import Case, NoteCode, ScriptTarget, Settings, Status
from opperf.programs.child.hooks import OPTIMIZERS, SCALERS, TENSORS, Hooks
from opperf.programs.child.rewriting import rewrite
from opperf.programs.child.steps import item_count
from opperf.programs.launching import parse_part
from opperf.programs.measuring import Programs
from tests.programs.scripts import COUNTING, LOOP, data, streamed


def test_a_loop_over_a_loader_is_observed_and_then_stopped(run):
    record, [events] = run(LOOP, "loader:main:batches")
    assert record.status is Status.OK, record.reason
    rate = record.summaries["rate"]
    assert rate.n == 10 and rate.unit == "items/s"
    # Eight items in a step of a millisecond or more.
    assert 0 < rate.max <= 8000
    assert rate.ci_low <= rate.median <= rate.ci_high
    (process,) = record.processes
    assert process.stopped and process.exit_code == 0
    assert process.warmup == len(record.warmup["rate"]) >= 10
    assert len(data(events, "rate")) >= process.warmup + 10
    assert record.samples["progress"] == [1.0]
    assert record.summaries["first_step"].median > 0
    assert record.summaries["program_memory"].max > 2**20


@pytest.mark.parametrize(
    ("observe", "source"),
    [
        ("function:main:step", "def step(): return 0.5\nwhile True: step()"),
        (
            "function:main:Trainer.step",
            "class Trainer:\n def step(self): return 0.5\nt = Trainer()\nwhile True: t.step()",
        ),
        ("function:helping:step", "import helping\nwhile True: helping.step()"),
        ("function:helping:step", "from helping import step\nwhile True: step()"),
        (
            "loader:main:self.loader",
            "class T:\n loader = range(9**9)\n def fit(self):\n"
            "  for b in self.loader: pass\nT().fit()",
        ),
        (
            "loader:main:loader",
            "loader = iter(lambda: [1, 2], None)\nit = iter(loader)\nwhile True: next(it)",
        ),
        (
            "loader:helping:Loader",
            "from helping import Loader\nwhile True:\n for b in Loader(): pass",
        ),
        ("loader:helping:DATA", "import helping\nwhile True:\n for b in helping.DATA: pass"),
    ],
)  # fmt: skip
def test_parts_are_observed_wherever_they_are(tmp_path, monkeypatch, observe, source):
    (tmp_path / "helping.py").write_text(
        "DATA = [[1, 2]] * 50\ndef step(): return 0.5\n"
        "class Loader:\n def __iter__(self): return iter(DATA)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    for name in ("loader", "class", "function"):
        monkeypatch.setattr(builtins, f"__opperf_{name}__", None, raising=False)
    # Another test's PyTorch stays as it is.
    for name in ("helping", OPTIMIZERS, TENSORS, SCALERS):
        monkeypatch.delitem(sys.modules, name, raising=False)
    steps = Counted()
    hooks = Hooks([parse_part(observe)[:3]], steps, item_count, rewrite)
    hooks.install("program")
    with pytest.raises(Stopped):
        exec(hooks.compile(source.encode(), "program.py"), {"__name__": "__main__"})
    sys.modules.pop("helping", None)
    is_loader = "loader" in observe
    assert not hooks.missing() and steps.counts_items == is_loader
    of_batch = 0 if not is_loader else 1 if "range" in source else 2
    assert steps.items == of_batch * Counted.MOST
    assert steps.losses == ([] if is_loader else [0.5] * Counted.MOST)


class Stopped(Exception):
    """Ends a program."""


class Counted:
    """Steps that end the program at one of them."""

    MOST = 20

    def __init__(self):
        self.ends, self.items, self.losses = 0, 0, []

    def begin(self):
        pass

    def keep_loss(self, loss):
        self.losses.append(loss)

    def end(self):
        self.ends += 1
        if self.ends == self.MOST:
            raise Stopped


def test_an_optimizer_is_observed_with_its_loss_and_the_loader_says_the_items(run):
    pytest.importorskip("torch")
    source = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
loader = [torch.ones(6, 4)] * 10_000
for batch in loader:
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
"""
    record, [events] = run(source, "optimizer", "loader:main:loader")
    assert record.status is Status.OK, record.reason
    observed = data(events, "rate")[5]
    assert observed["rate"] * observed["elapsed"] == pytest.approx(6)
    # Later ones are of rounding.
    losses = record.samples["loss"][:20]
    assert losses == sorted(losses, reverse=True) and losses[0] > losses[-1]


def test_lines_of_the_output_are_observed_by_patterns(run):
    source = """
import time
for step in range(100_000):
    print(f"step {step} loss: {1 / (step + 1):.4f} 1,0{step % 9}0.5 images/s", flush=True)
    time.sleep(0.0005)
"""
    record, _ = run(source, r"line:loss: (?P<loss>\S+) (?P<rate>\S+) images/s")
    assert record.status is Status.OK, record.reason
    assert 1000 < record.summaries["rate"].median < 1100
    assert record.samples["loss"][0] == 1.0
    stepped, _ = run(source, r"line:step (?P<step>\d+)")
    assert stepped.summaries["rate"].unit == "steps/s"
    assert stepped.summaries["rate"].min > 0


def test_a_program_that_writes_its_own_events_is_measured(run):
    record, _ = run(COUNTING.format(n=40))
    assert record.status is Status.OK
    assert record.summaries["rate"].n == 10 and not record.notes
    # Those of the warm-up too.
    assert len(record.samples["loss"]) >= 19 and record.samples["loss"][0] == 1.0


VOIRED = """
import time, voir

def main():
    for batch in voir.iterate("train", [[0] * 16] * 10_000, report_batch=True, batch_size=len):
        time.sleep(0.001)

main()
"""


VOIRFILE = """
from dataclasses import dataclass
from voir import configurable
from voir.instruments import early_stop, log, rate

@dataclass
class Options:
    \"\"\"Options.\"\"\"

    stop: int = 5
    interval: str = ""
    skip: int = 99

@configurable
def instrument_main(overseer, options: Options):
    yield overseer.phases.init
    overseer.require(
        log("rate", "progress", "units", context="task"),
        rate(interval=1, skip=options.skip),
        early_stop(n=options.stop, key="rate", task="train"),
    )
"""


def test_a_voirfile_observes_a_program_with_the_options_of_the_case(run, tmp_path):
    pytest.importorskip("voir")
    voirfile = tmp_path / "of two words.py"
    voirfile.write_text(VOIRFILE)
    record, [events] = run(VOIRED, voirfile=str(voirfile), stop=6, skip=1)
    assert record.status is Status.OK, record.reason
    assert record.summaries["rate"].n == 6 and record.processes[0].exit_code == 0
    assert not [event for event in events if event.event in ("error", "overseer_error")]
    phases = [event.data["name"] for event in events if event.event == "phase"]
    assert phases == ["init", "parse_args", "load_script", "run_script", "finalize"]
    # Voir would stop it at a number beyond that which is wanted.
    (last,) = data(events, "progress")[-1:]
    assert last["task"] in ("train", "early_stop")
    stops = [each["progress"][1] for each in data(events, "progress") if each["task"] != "train"]
    assert set(stops) == {27}


def test_without_voir_a_voirfile_is_a_reason(run, tmp_path):
    (tmp_path / "voir.py").write_text("raise ImportError('none here')")
    record, _ = run("", voirfile=str(tmp_path / "voirfile.py"))
    assert record.status is Status.FAILED and "ImportError" in record.reason


def test_the_warm_up_is_as_long_as_is_asked(run):
    record, _ = run(COUNTING.format(n=40), settings=Settings(warmup=3), skip=2)
    assert record.processes[0].warmup == 5 and len(record.warmup["rate"]) == 5


def test_too_few_observations_are_said(run, expire, tmp_path):
    short, _ = run(COUNTING.format(n=15), stop=10)
    assert short.status is Status.OK
    assert [note.code for note in short.notes if note.code == NoteCode.INCOMPLETE]
    assert short.summaries["progress"].median < 1
    warm, _ = run(COUNTING.format(n=4))
    assert warm.status is Status.FAILED
    assert warm.reason.startswith("made 4 observations, all of them warm-up")
    none, _ = run("print(1)")
    assert none.status is Status.FAILED and none.reason == "made no observation"
    missing, _ = run(LOOP.replace("10_000", "5"), "loader:main:loader")
    assert missing.reason == "made no observation; the program has no loader:main:loader"
    expire(lambda: "no function:main:step" in streamed(tmp_path))
    endless, _ = run("while True: pass", "function:main:step")
    assert endless.status is Status.TIMEOUT
    assert endless.reason.endswith("0 observations; the program has no function:main:step")


def test_rates_that_are_none_are_no_observations(run):
    source = (
        COUNTING.format(n=40)
        + "\n"
        + "\n".join(
            f"say(task='train', rate={value})"
            for value in ("0", "-1", "float('nan')", "float('inf')", "'fast'", "None", "True")
        )
    )
    record, _ = run(source, stop=1000)
    assert record.status is Status.OK
    assert set(record.samples["rate"]) <= {100.0, 101.0, 102.0}


def test_wrong_input_is_said_in_one_line(run, tmp_path):
    for observe, reason in [
        ("loder:main:x", "unknown part of a program 'loder'"),
        ("loader:main", "'loader:main' is not of the form loader:MODULE:NAME"),
        ("optimizer:main:x", "'optimizer:main:x' is not of the form optimizer"),
        ("line:(", "'line:(' is not a regular expression"),
        ("line:(?P<speed>x)", "unknown group of a pattern 'speed'"),
    ]:
        record, _ = run(LOOP, observe)
        assert record.status is Status.FAILED and record.reason.startswith(reason)
    case = Case(ScriptTarget("bench", str(tmp_path / "none.py")), {}, passes=())
    assert Programs().measure(case).reason == f"{tmp_path / 'none.py'}: no such script"
    (tmp_path / "main.py").write_text("")
    case = Case(ScriptTarget("bench", str(tmp_path / "main.py")), {}, passes=())
    record = Programs().measure(case, python=str(tmp_path / "python"))
    assert record.status is Status.FAILED and "check that it is a Python" in record.reason


def test_paths_are_those_of_the_script(run, tmp_path):
    (tmp_path / "beside.py").write_text("VALUE = 100.0")
    source = (
        COUNTING.format(n=0)
        + "import sys, beside\nassert __name__ == '__main__' and sys.argv[1:] == ['-a', '1']\n"
        + f"assert os.getcwd() == {str(tmp_path)!r}\n"
        + "for n in range(40): say(task='train', rate=beside.VALUE)"
    )
    record, _ = run(source, argv=("-a", "1"))
    assert record.status is Status.OK, record.reason
    assert Path(record.case.target.script).name == "main.py"


@pytest.mark.parametrize(
    ("voirfile", "reason"),
    [
        (
            "def instrument_one(ov):\n    raise KeyError('device')\n",
            "exit code 1: failing.py:2: KeyError: 'device'",
        ),
        (
            "def instrument_one(ov):\n    yield ov.phases.init\n    [][ov.options is None]\n",
            "made no observation; failing.py:3: AttributeError: ",
        ),
        ("def f():\n    1 / 0\nf()\n", "exit code 1: failing.py:2: ZeroDivisionError: division"),
        ("def f(:\n", "exit code 1: SyntaxError: invalid syntax (failing.py, line 1)"),
    ],
)
def test_a_voirfile_that_fails_is_in_the_reason_with_its_line(run, tmp_path, voirfile, reason):
    pytest.importorskip("voir")
    (tmp_path / "failing.py").write_text(voirfile)
    record, _ = run("", voirfile=str(tmp_path / "failing.py"))
    assert record.status is Status.FAILED
    assert record.reason.startswith(reason)
