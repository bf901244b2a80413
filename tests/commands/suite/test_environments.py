"""`suite install`, `prepare` and `shell`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from opperf.commands.suite.files import startup_file
from opperf.results.runfile import read_run


def test_each_environment_is_installed_or_says_why_not(opperf, here):
    code, out, err = opperf("install", "suite.yaml", "--lock", "all.json")
    assert code == 1
    bad = [line for line in err.splitlines() if line.startswith("bad: ")]
    assert len(bad) == 1 and "No matching distribution found for scales==9" in bad[0]
    # That of a bench that is not enabled is not looked at.
    assert "scales==8" not in err
    assert out.splitlines()[0].endswith(": one, same, other")
    assert "opperf's own environment: 1 bench" in out
    lock = json.loads((here / "all.json").read_text())
    assert [one["packages"] for one in lock["environments"]] == [["scales==1.0"]]
    # What is selected does not change what is shared.
    assert opperf("install", "suite.yaml", "--select", "other")[0] == 0
    code, _, err = opperf("install", "suite.yaml", "--select", "one", "--locked", "all.json")
    assert code == 0 and "installing" not in err


def test_benches_are_prepared_in_their_environments_each_once(opperf, here):
    words = ["prepare", "suite.yaml", "--exclude", "bad", "--base", str(here / "base")]
    code, out, _ = opperf(*words)
    assert code == 0
    assert "same: prepared with one" in out
    lines = (here / "base" / "data" / "prepared.txt").read_text().splitlines()
    assert lines == ["1 --n 3 two words", "1 --n 4 two words"]


def test_one_that_cannot_be_prepared_stops_no_other(opperf, here):
    (here / "bench" / "prepare.py").write_text("import sys\nsys.exit(int(sys.argv[2]) - 3)\n")
    words = ["prepare", "suite.yaml", "--base", str(here / "base")]
    code, _, err = opperf(*words, "--select", "one,other")
    assert code == 1
    assert "other: not prepared: its script ended with exit code 1" in err
    assert "one: not" not in err
    assert opperf(*words, "--select", "plain")[:2] == (
        0,
        "no bench that is enabled has a prepare.py\n",
    )


def test_a_shell_has_the_environment_and_variables_of_its_bench(opperf, here):
    code, out, _ = opperf("shell", "suite.yaml", "one", "--print")
    assert code == 0
    script = f'{out}\nscales; python -c "import scales"; echo "$FACTORS"; pwd\n'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["1", "two words", str(here / "bench")], done.stderr


def test_what_is_shown_runs_in_the_environment(opperf):
    _, out, _ = opperf("show", "suite.yaml", "bad")
    assert "opperf run exp --with scales==9\n" in out and "suite install installs it" in out
    opperf("install", "suite.yaml", "--select", "one")
    _, out, _ = opperf("show", "suite.yaml", "one")
    command = out.splitlines()[2].strip()
    assert subprocess.run(["bash", "-c", f"{command} && exit 9"]).returncode == 9
    assert "/bin/python main.py --n 3" in command and "suite install" not in out
    assert "--select off" in opperf("show", "suite.yaml", "off")[1]


def test_folders_are_those_of_the_bench_and_its_environment(opperf):
    words = ("shell", "suite.yaml", "one", "--print", "--base", "/base")
    _, out, _ = opperf(*words, "--override", "one.dirs.data=/own", "--override", "one.dirs.extra=x")
    exports = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
    assert exports["export MILABENCH_DIR_DATA"] == "/own"
    assert exports["export MILABENCH_DIR_EXTRA"] == "/base/x"
    assert exports["export MILABENCH_DIR_VENV"] == exports["export VIRTUAL_ENV"]


RATES = """\
import json, os, scales
with os.fdopen(int(os.environ["DATA_FD"]), "w") as out:
    for number in range(30):
        print(json.dumps({"task": "train", "rate": float(scales.FACTOR)}), file=out)
"""


def test_a_suite_is_run_in_several_environments_that_are_compared(opperf, here, monkeypatch):
    monkeypatch.setenv("OPPERF_DATA", str(here / "data"))
    (here / "bench" / "main.py").write_text(RATES)
    (here / "two.yaml").write_text(
        "bare: {definition: bench, voir: {options: {stop: 5}}}\n"
        "own: {inherits: bare, install_group: g, env: {packages: [uses_scales, scales==3.0]}}\n"
    )
    both = ("--with", "scales==1.0", "--with", "scales==2.0")
    words = ("--warmup", "2", "--cpus", "none", "-o", "run.jsonl")
    code, out, err = opperf("run", "two.yaml", *both, *words)
    assert code == 0, out + err
    run, _ = read_run(here / "run.jsonl")
    labels = ["scales==1.0", "scales==2.0", "g + scales==1.0", "g + scales==2.0"]
    assert [case.settings.python for case in run.cases] == labels
    assert [record.summaries["rate"].median for record in run.records] == [1.0, 2.0, 1.0, 2.0]
    sides = ("--env-a", "scales==1.0", "--env-b", "scales==2.0", "-o", "found.json")
    assert opperf("compare", "run.jsonl", "run.jsonl", *sides)[0] == 0
    found = json.loads((here / "found.json").read_text())["rows"]
    assert [(row["operator"], row["ratio"]) for row in found] == [("bare", 2.0), ("own", 2.0)]
    code, _, err = opperf("run", "two.yaml", *both, "--use-current-env")
    assert code == 2 and "use one of them" in err


def test_a_shell_is_started(here):
    words = [sys.executable, "-m", "opperf", "suite", "shell", "suite.yaml", "plain"]
    commands = "echo $MILABENCH_DIR_CODE\nexit 7\n"
    done = subprocess.run(words, input=commands, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (7, f"{here}\n"), done.stderr


def test_an_interactive_shell_has_the_variables_after_the_users_file(here, monkeypatch):
    # It may put other programs first on the path.
    (here / ".bashrc").write_text("export FACTORS=users USERS=1\n")
    monkeypatch.setenv("HOME", str(here))
    path = startup_file({"FACTORS": "two words"})
    shown = subprocess.run(
        ["bash", "--rcfile", path, "-i"],
        input='echo "$FACTORS $USERS"\n',
        capture_output=True,
        text=True,
    )
    assert shown.stdout.splitlines() == ["two words 1"]
    assert not Path(path).exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["shell", "suite.yaml", "onne"], "no bench is called onne; did you mean one"),
        (["shell", "suite.yaml", "bad"], "No matching distribution found for scales==9"),
        (["install", "no.yaml"], "no.yaml"),
        (["install", "suite.yaml", "--locked", "suite.yaml"], "is no lock file"),
    ],
)
def test_bad_input_is_one_line(opperf, words, expected):
    code, _, err = opperf(*words)
    assert code == 2
    assert expected in err.splitlines()[-1] and err.splitlines()[-1].startswith("opperf: ")
