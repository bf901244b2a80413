"""What `opperf frameworks` lists, and what commands say of a framework nobody named."""

import json
import re
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from opperf.commands.registry import frameworks
from opperf.errors import UsageError
from opperf.frameworks import BUILT_IN
from opperf.frameworks.installed import Package, SweptVersion
from opperf.frameworks.mentioned import FrameworkChoice, report_choice
from opperf.reports import this_machine as module
from opperf.reports import writing
from opperf.requests import machine as requests_machine
from opperf.sources.choices import choices
from opperf.worker import client as pool
from tests.writing import told


@pytest.fixture
def listed(monkeypatch, capsys):
    """What the command prints, with these frameworks known and packages installed."""
    packages = {
        "mine": Package("mine", "forward; python profiler", "mine[all]"),
        "old": Package("old", "memory", "old", obstacle=lambda: "needs mine below 2"),
        "ahead": Package("ahead", "forward", "ahead", tested=("1.9", "2.0")),
        "silent": None,
    }
    monkeypatch.setattr(module, "available", lambda: packages)
    monkeypatch.setattr(module, "package_of", packages.__getitem__)
    monkeypatch.setattr(module, "is_installed", {"old", "ahead"}.__contains__)
    monkeypatch.setattr(module, "package_version", {"old": "2.1", "ahead": "2.1"}.__getitem__)
    monkeypatch.setattr(module, "default_framework", lambda: "old")

    def printed(*arguments):
        assert frameworks.main(list(arguments), standalone_mode=False) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return printed


def test_a_table_of_what_is_there_and_what_to_install(listed):
    head, _, *rows, empty, closing, hint = listed().splitlines()
    assert head.split("  ")[0] == "Framework"
    untested, *rows = rows
    assert untested.startswith("ahead      2.1") and "1.9 to 2.0  forward" in untested
    assert "2.1 is newer than the tested versions" in untested
    assert [row.split() for row in rows] == [
        ["mine", "not", "installed", "forward;", "python", "profiler"]
        + ["pip", "install", "'mine[all]'"],
        ["old", "2.1", "memory", "needs", "mine", "below", "2"],
        ["silent", "unknown"],
    ]
    assert (empty, closing) == ("", "Default framework: old")
    assert hint.endswith("opperf frameworks NAME")


def test_the_same_for_a_machine(listed):
    ahead, mine, old, silent = json.loads(listed("--json"))
    assert mine == {
        "name": "mine",
        "installed": False,
        "version": "",
        "offers": "forward; python profiler",
        "advice": "pip install 'mine[all]'",
        "tested": None,
        "warning": "",
        "choices": {},
        "tested_versions": [],
    }
    assert ahead["tested"] == ["1.9", "2.0"] and "newer" in ahead["warning"]
    assert (old["installed"], old["version"], old["advice"]) == (True, "2.1", "needs mine below 2")
    assert (silent["name"], silent["installed"], silent["version"]) == ("silent", True, "")


def test_one_whose_module_cannot_be_imported(monkeypatch):
    monkeypatch.setitem(BUILT_IN, "gone", "not_there_at_all:framework")
    report = module.report_of_frameworks([module.describe_framework("gone")], False)
    said = "gone cannot be imported: No module named 'not_there_at_all'"
    assert re.split(" {2,}", told(report).splitlines()[2]) == ["gone", "not installed", said]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_table_breaks_between_words(width):
    offers = "forward, backward, memory; native and python profilers; cpu, gpu"
    row = module.FrameworkRow("mine", True, "2.13.0+cpu", offers, "")
    text = told(module.report_of_frameworks([row], False), width=width).partition("\n\n")[0]
    assert max(map(len, text.splitlines())) <= width
    words = text.split()
    assert all(word in words for word in (*offers.split(), "2.13.0+cpu"))
    assert "To do" not in text, "nothing has to be done"


@pytest.fixture
def in_process(monkeypatch, fake):
    """A worker that has the fake framework, in this process."""
    worker = SimpleNamespace(choices=lambda: choices(fake))
    monkeypatch.setattr(pool, "Worker", lambda name: nullcontext({"silent": worker}[name]))


def test_what_those_that_are_named_have_here(listed, in_process, monkeypatch):
    monkeypatch.setattr(writing, "terminal_width", lambda: 30)
    monkeypatch.setattr(writing, "_print_coloured", lambda text, report: print(text, end=""))
    fine, lacking, absent = listed("silent", "old", "mine").split("\n\n")
    assert fine.splitlines() == [
        "silent unknown",
        "device         cpu(0)",
        "dtype          float32,",
        "               float64, int32",
        "profiler       native, python,",
        "               instructions",
        "mode           eager",
        "autocast       off",
        "memory_format  contiguous",
        "namespace      internal, nd,",
        "               np",
        "category       binary,",
        "               copying, moody,",
        "               odd, unary",
    ]
    assert lacking.splitlines() == ["old 2.1", "needs mine below 2"]
    assert absent.splitlines() == ["mine not installed", "pip install 'mine[all]'"]


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ((), "; it has all names without a public interface that opperf uses"),
        (("mine.gone (for timing)",), "; opperf uses names that it lacks, which are under missing"),
    ],
)
def test_what_an_untested_version_lacks_is_said_where_it_is_asked(
    listed, monkeypatch, missing, said
):
    """And not that it is to be asked there."""
    found = {"device": ("cpu(0)",), **({"missing": missing} if missing else {})}
    worker = SimpleNamespace(choices=lambda: found)
    monkeypatch.setattr(pool, "Worker", lambda name: nullcontext(worker))
    row = SweptVersion("ahead", "oldest", "2.0", "3.12.1", 90, 80, 200, 7, 0, "2026-11-28")
    monkeypatch.setattr(requests_machine, "tested_versions", lambda name: (row,))
    text = listed("ahead").strip()
    warning = " ".join(text.partition("\n\n")[0].splitlines()[2 + bool(missing) :])
    closing = text.splitlines()[-1]
    assert " ".join(warning.split()) == f"2.1 is newer than the tested versions, 1.9 to 2.0{said}"
    assert closing.split() == ["2.0", "3.12.1", "90", "80", "200", "7", "0", "2026-11-28"]


def test_what_they_have_for_a_machine(listed, in_process):
    (found,) = json.loads(listed("--json", "silent"))
    assert found["choices"]["dtype"] == ["float32", "float64", "int32"]


def test_an_unknown_name_suggests_a_known_one():
    with pytest.raises(UsageError, match="unknown framework 'nmpy'; did you mean numpy"):
        frameworks.main(["nmpy"], standalone_mode=False)


def test_numpy_is_always_there():
    found = module.describe_framework("numpy")
    assert found.installed and found.version and not found.advice


def test_a_choice_is_said_where_it_was_not_the_users():
    said = []

    def say(is_named=False, elsewhere=False):
        report_choice(FrameworkChoice("numpy", is_named, elsewhere, None), said.append)

    say()
    (line,) = said
    assert line.startswith("framework: numpy ") and line.endswith(
        "; choose another with --framework"
    )
    assert "the first installed of mxnet, torch, jax, numpy" in line
    say(elsewhere=True)
    assert said.pop().startswith("framework: numpy, the first installed ")
    say(is_named=True)
    assert said == [line]
