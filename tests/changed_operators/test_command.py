"""`--changed-since` of `run` and `ab`."""

import sys

import pytest

from opperf.opperf import main
from opperf.results.runfile import read_run
from tests.changed_operators.trees import KERNELS, change, make


@pytest.fixture
def repository(tmp_path, monkeypatch):
    make(tmp_path, KERNELS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    with pytest.raises(SystemExit) as ended:
        main(["run", "--framework", "numpy", "--quick", "--max-time", "0.01", *words])
    return ended.value.code or 0


def measured(folder, *words):
    assert run("-o", "results.jsonl", "--changed-since", "main", *words) == 0
    run_read, _ = read_run(folder / "results.jsonl")
    return {case.target.label for case in run_read.cases}


def test_nothing_changed_measures_nothing(repository, capsys):
    assert run("--changed-since", "main", "-o", "results.jsonl") == 0
    assert "nothing is measured" in capsys.readouterr().err
    assert not (repository / "results.jsonl").exists()


def test_what_changed_is_measured_beside_what_is_named(repository, capsys):
    change(repository, "my_package/kernels.py", "np.maximum", "np.fmax")
    assert measured(repository, "exp") == {"exp", "relu"}
    assert "my_package/kernels.py -> my_package.kernels:relu" in capsys.readouterr().err


def test_a_function_without_inputs_is_said(repository, capsys):
    (repository / "other.py").write_text("def parse(text, options):\n    return text\n")
    (repository / "notes.txt").touch()
    assert run("--changed-since", "main") == 0
    said = capsys.readouterr().err
    assert "other.py is not mapped: other.py:parse: " in said
    assert "1 file without code not mapped: notes.txt" in said


def test_the_table_of_the_project(repository):
    (repository / "opperf.toml").write_text('[changed]\n"my_package/*" = ["tanh"]\n')
    change(repository, "my_package/kernels.py", "np.maximum", "np.fmax")
    assert measured(repository) == {"tanh"}


def test_both_arms_have_it(repository, capsys):
    change(repository, "my_package/kernels.py", "np.maximum", "np.fmax")
    words = ["--framework", "numpy", "--b", "env:OMP_NUM_THREADS=2", "--dry-run"]
    with pytest.raises(SystemExit) as ended:
        main(["ab", "--changed-since", "main", *words])
    assert not ended.value.code
    assert "relu" in capsys.readouterr().out


def test_a_file_of_no_package_is_the_same_in_both_builds(repository, capsys):
    """Its verdict would be that nothing changed, whatever did."""
    (repository / "other.py").write_text("def relu(x):\n    return x * 2\n")
    other = repository / "python"
    other.symlink_to(sys.executable)
    arms = ["--a", f"python:{sys.executable}", "--b", f"python:{other}"]
    with pytest.raises(SystemExit) as ended:
        main(["ab", "--framework", "numpy", "--changed-since", "main", *arms, "--dry-run"])
    assert not ended.value.code
    said = capsys.readouterr().err
    assert "other.py is not mapped: other.py:relu: its file is the same in both arms" in said


@pytest.mark.parametrize(
    "words, message",
    [
        (["--changed-since", "nosuch"], "no such commit"),
        (["exp", "--repository", "my_package"], "--repository is for --changed-since"),
        (["--changed-since", "main", "--resume"], "what is resumed has its own cases"),
    ],
)
def test_wrong_words_are_one_line(repository, capsys, words, message):
    assert run(*words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_wrong_table_is_one_line(repository, capsys):
    (repository / "opperf.toml").write_text('[changed]\n"my_package/*" = "tanh"\n')
    assert run("--changed-since", "main") == 2
    assert "is a list of operators" in capsys.readouterr().err
