"""What `opperf frameworks` lists, and what commands say of a framework nobody named."""

import json

import pytest

from opperf.commands.frameworks import frameworks
from opperf.frameworks import BUILT_IN
from opperf.frameworks.installed import Package
from opperf.runner import frameworks_command as module
from opperf.runner.frameworks_command import report_choice


@pytest.fixture
def listed(monkeypatch, capsys):
    """What the command prints, with these frameworks known and packages installed."""
    packages = {
        "mine": Package("mine", "forward; python profiler", "opperf[mine]"),
        "old": Package("old", "memory", "old", obstacle=lambda: "needs mine below 2"),
        "silent": None,
    }
    monkeypatch.setattr(module, "available", lambda: packages)
    monkeypatch.setattr(module, "package_of", packages.__getitem__)
    monkeypatch.setattr(module, "is_installed", {"old"}.__contains__)
    monkeypatch.setattr(module, "package_version", {"old": "2.1"}.__getitem__)
    monkeypatch.setattr(module, "preferred", lambda: "old")

    def printed(*arguments):
        assert frameworks.main(list(arguments), standalone_mode=False) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return printed


def test_a_table_of_what_is_there_and_what_to_install(listed):
    head, _, *rows, empty, closing = listed().splitlines()
    assert head.split("  ")[0] == "Framework"
    assert [row.split() for row in rows] == [
        ["mine", "not", "installed", "forward;", "python", "profiler"]
        + ["pip", "install", "'opperf[mine]'"],
        ["old", "2.1", "memory", "needs", "mine", "below", "2"],
        ["silent", "unknown"],
    ]
    assert (empty, closing) == ("", "Without --framework: old")


def test_the_same_for_a_machine(listed):
    mine, old, silent = json.loads(listed("--json"))
    assert mine == {
        "name": "mine",
        "installed": False,
        "version": "",
        "offers": "forward; python profiler",
        "advice": "pip install 'opperf[mine]'",
    }
    assert (old["installed"], old["version"], old["advice"]) == (True, "2.1", "needs mine below 2")
    assert (silent["name"], silent["installed"], silent["version"]) == ("silent", True, "")


def test_one_whose_module_cannot_be_imported(monkeypatch):
    monkeypatch.setitem(BUILT_IN, "gone", "not_there_at_all:framework")
    assert module.table_row(module.describe_framework("gone")) == (
        "gone",
        "not installed",
        "",
        "gone cannot be imported: No module named 'not_there_at_all'",
    )


def test_numpy_is_always_there():
    found = module.describe_framework("numpy")
    assert found.installed and found.version and not found.advice


def test_a_choice_is_said_where_it_was_not_the_users():
    said = []
    report_choice("numpy", {"size": "small"}, said.append)
    (line,) = said
    assert line.startswith("framework: numpy ") and line.endswith("; --framework names another")
    assert "the first installed of mxnet, torch, jax, numpy" in line
    report_choice("numpy", {"python": "another"}, said.append)
    assert said.pop().startswith("framework: numpy, the first installed ")
    report_choice("numpy", {}, said.append, elsewhere=True)
    assert said.pop().startswith("framework: numpy, the first installed ")
    report_choice("numpy", {"framework": "numpy"}, said.append)
    assert said == [line]
