"""The command that settles what is suspect."""

import shlex
import sys

import msgspec
import pytest

from opperf import frameworks
from opperf.commands.ab import ab
from opperf.comparison.ab.arms import selection_of
from opperf.comparison.compared import ComparedRow, Comparison, Side
from opperf.comparison.files.confirming import PLACEHOLDERS, confirming_command
from opperf.errors import FrameworkError
from opperf.machine.environment import Difference
from opperf.model import DECLARED, DEFAULTS
from opperf.requests.ab.resolving import resolve
from opperf.statistics.data import Verdict


@pytest.mark.parametrize(
    ("changed", "arms"),
    [
        ({}, "--a python:/path/to/base/python --b python:/path/to/new/python --threads all"),
        (
            {"threads": {"OMP_NUM_THREADS": "4"}},
            "--a env:OMP_NUM_THREADS=2 --b env:OMP_NUM_THREADS=4",
        ),
        ({"threads": {}}, "--a env:OMP_NUM_THREADS=2 --b threads:all"),
        (
            {"versions": {"mxnet": "2.0.0"}, "threads": {}},
            "--a python:/path/to/base/python --a env:OMP_NUM_THREADS=2 "
            "--b python:/path/to/new/python --b threads:all",
        ),
    ],
)
def test_the_confirming_command_has_the_arms_that_differ(run, record, asked, changed, arms):
    base = run(record("relu"), record("exp"))
    new = run(record("relu", factor=1.5), record("exp"), **changed)
    found = asked(base, new)
    chosen = f"{found.base.path} --id {base.records[0].id[:6]}"
    assert found.confirm == f"opperf ab {chosen} {arms}"


def test_the_cases_and_the_settings_of_their_calls_are_those_of_the_file(run, record, asked):
    settings = {"dtype": "float16", "profiler": "python", "threads": 4}
    base = run(record("a b", **settings), selection={"size": "small"})
    new = run(record("a b", factor=2.0, **settings), cores=8)
    found = asked(base, new)
    assert found.confirm == (
        f"opperf ab {found.base.path} --id {base.records[0].id[:6]} "
        "--a python:/path/to/base/python --a threads:4 "
        "--b python:/path/to/new/python --b threads:4"
    )


@pytest.mark.parametrize("extensions", [("json", "jsonl"), ("json", "json")])
def test_averages_have_their_ids_and_their_selection_beside_them(run, record, asked, extensions):
    chosen_inputs = {
        "shapes": {"data": (2, 3)},
        "swept_shapes": {"w": (4, "n")},
        "sweeps": {"n": (8, 16)},
        "values": {"axis": 1, "kernel": (3, 3), "act_type": "relu"},
    }
    base = run(record("relu"), selection={"size": "small", **chosen_inputs, "backward": False})
    found = asked(base, run(record("relu", factor=1.5)), extensions)
    number = base.records[0].id[:6]
    chosen = {
        "jsonl": f"{found.new.path} --id {number}",
        "json": "relu --size small --shape data=2x3 --shape w=4xn --sweep n=8,16 --arg axis=1 "
        f"--arg 'kernel=[3, 3]' --arg act_type=relu --no-backward --id {number}",
    }
    assert found.confirm.startswith(f"opperf ab {chosen[extensions[1]]} --a ")


def test_the_confirming_command_names_the_largest_changes(run, record, asked):
    names = [f"op{number:02d}" for number in range(30)]
    base = run(*(record(name) for name in names))
    new = run(*(record(name, factor=2.0 + number) for number, name in enumerate(names)))
    words = asked(base, new).confirm.split()
    ids = [one.id[: len(words[4].split(",")[0])] for one in base.records]
    assert words[4].split(",") == ids[:9:-1]


def row(operator="relu", ratio=2.0, verdict=Verdict.SUSPECT, metric="forward"):
    unit = "ns" if metric == "forward" else "B"
    return ComparedRow("", operator, "", metric, verdict, unit=unit, base=1.0, new=1.0, ratio=ratio)


@pytest.fixture
def command(measured):
    """The command for these rows and differences, of files of which nothing else is known."""

    def told(*rows, differences=(), base=None, new=None):
        sides = (Side("a"), Side("b"))
        found = Comparison(
            "compare", sides, 0.02, rows=rows or (row(),), differences=tuple(differences)
        )
        return confirming_command(found, base or measured(), new or measured())

    return told


PYTHONS = "--a python:/path/to/base/python --b python:/path/to/new/python"


def test_there_is_no_command_where_no_time_is_suspect(command):
    assert command(row(verdict=Verdict.NO_CLEAR_CHANGE), row(metric="memory")) == ""
    assert command(row("a", metric="memory"), row("b")) == f"opperf ab b {PYTHONS}"


def test_operators_are_named_once_and_the_furthest_from_one_first(command):
    rows = [row("slower", 2.0), row("faster", 0.1), row("none", None), row("slower", 20.0)]
    assert command(*rows) == f"opperf ab slower faster none {PYTHONS}"
    assert command(row("a", 1.5), *rows) == f"opperf ab slower faster a none {PYTHONS}"


@pytest.mark.parametrize(
    ("differences", "arms"),
    [
        ([("settings.threads", 1, 4)], "--a threads:1 --b threads:4"),
        ([("settings.threads", None, 4)], "--a threads:all --b threads:4"),
        (
            [("settings.threads", None, 4), ("threads.OMP_NUM_THREADS", "absent", "4")],
            "--a threads:all --b threads:4 --b env:OMP_NUM_THREADS=4",
        ),
        (
            [("threads.A", "absent", "1"), ("threads.B", "2", "3")],
            "--a env:B=2 --b env:A=1 --b env:B=3",
        ),
        # What no arm can be given is not told, and two builds are two interpreters.
        (
            [("settings.runs", 20, 50), ("settings.cache", "hot", "cold")],
            "--a cache:hot --b cache:cold",
        ),
        ([("settings.runs", 20, 50)], PYTHONS),
        ([("governor", "performance", "powersave")], PYTHONS),
        ([("python", "3.11", "3.12")], PYTHONS),
        ([("features.MKLDNN", True, False)], PYTHONS),
        (
            [("settings.dtype", "float16", "float32"), ("versions.mxnet", "1", "2")],
            "--a python:/path/to/base/python --a dtype:float16 "
            "--b python:/path/to/new/python --b dtype:float32",
        ),
    ],
)
def test_an_arm_has_what_differs(command, differences, arms):
    told = [Difference(*one) for one in differences]
    assert command(differences=told) == f"opperf ab relu {arms}"


SETTINGS = {"device": "cpu(0)", "dtype": "float32", "profiler": "native", "threads": None}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, ""),
        ({"device": "gpu(0)"}, " --ctx 'gpu(0)'"),
        ({"dtype": "float16"}, " --dtype float16"),
        ({"profiler": "python"}, " --profiler python"),
    ],
)
def test_what_both_runs_were_made_with_is_an_option_where_it_is_unusual(
    command, entry, measured, settings, words
):
    run = measured(entry(settings=SETTINGS | settings), framework="mxnet")
    assert command(base=run, new=run) == f"opperf ab relu {PYTHONS} --threads all{words}"


def test_the_first_device_of_the_machine_needs_no_option(command, entry, measured):
    devices = ("gpu(0)", "cpu(0)")
    for device, words in (("gpu(0)", ""), ("cpu(0)", " --ctx 'cpu(0)'")):
        run = measured(entry(settings=SETTINGS | {"device": device}), devices=devices)
        assert command(base=run, new=run) == f"opperf ab relu {PYTHONS} --threads all{words}"


def test_the_framework_is_named_where_another_or_none_would_be_chosen(
    command, entry, measured, monkeypatch
):
    def none_installed():
        raise FrameworkError("none is installed")

    run = measured(entry(), framework="mxnet")
    for preferred in (lambda: "numpy", none_installed):
        monkeypatch.setattr(frameworks, "default_framework", preferred)
        assert command(base=run, new=run) == f"opperf ab relu {PYTHONS} --framework mxnet"


def test_two_frameworks_have_no_command(command):
    assert command(differences=[Difference("framework", "mxnet", "numpy")]) == ""


def test_the_settings_are_those_of_the_largest_change(command, entry, measured):
    entries = [
        entry(name, selector="", settings=SETTINGS | {"dtype": dtype}, effort={"seed": 7})
        for name, dtype in (("small", "float64"), ("large", "float16"))
    ]
    rows = [
        msgspec.structs.replace(row(name, ratio), id=f"id of {name}")
        for name, ratio in (("small", 1.1), ("large", 3.0))
    ]
    run = measured(*entries)
    words = f"opperf ab large small {PYTHONS} --threads all --dtype float16 --seed 7"
    assert command(*rows, base=run, new=run) == words


def test_functions_are_named_by_their_paths(command, entry, measured):
    run = measured(entry("softmax", pattern="kernels.py:softmax"), entry("snippet", pattern=""))
    rows = [row("snippet", 9.0), row("softmax")]
    assert command(*rows, base=run, new=run) == f"opperf ab kernels.py:softmax {PYTHONS}"
    assert command(rows[0], base=run, new=run) == ""


def test_a_setting_of_several_values_is_set_in_no_arm(command):
    differences = [
        Difference("settings.cache", ("hot", "cold"), "cold"),
        Difference("settings.env", {}, {"A": "1", "B": "2"}),
    ]
    assert (
        command(differences=differences) == "opperf ab relu --b cache:cold --b env:A=1 --b env:B=2"
    )


def other_values():
    """A value of every setting that an arm or an option of `ab` can have, beside the default."""
    words = {
        "device": "gpu(1)",
        "dtype": "float16",
        "profiler": "python",
        "threads": "4",
        "mode": "compiled",
        "phase": "train",
        "cache": "cold",
        "autocast": "bfloat16",
        "memory_format": "channels_last",
        "compile_cache": "cold",
        "grad": "weight,bias",
        "input_function": "kernels.py:make",
        "seed": "3",
    }
    found = {name: DECLARED[name].read(text) for name, text in words.items()}
    found["imports"] = ("kernels", "more kernels.py")
    assert {name for name, one in DECLARED.items() if one.common} <= set(found)
    return {**found, "env": {"A": "1 2", "B": ""}, "options": {"a.b": "true", "a.c": "high"}}


@pytest.mark.parametrize(
    "differing",
    [(), ("dtype", "threads", "env"), ("profiler", "cache"), ("options", "memory_format")],
)
def test_the_command_line_reads_the_command(
    command, entry, measured, tmp_path, monkeypatch, differing
):
    settings = other_values()
    effort = {name: settings.pop(name) for name in ("seed", "input_function", "imports")}
    run = measured(
        entry(settings=settings, effort=effort), selection={"size": "small"}, framework="numpy"
    )
    differences = [
        Difference(f"settings.{name}", DEFAULTS[name], settings[name]) for name in differing
    ]
    printed = command(differences=differences, base=run, new=run)
    for place, name in zip(PLACEHOLDERS, ("base", "new"), strict=True):
        python = tmp_path / name
        python.symlink_to(sys.executable)
        printed = printed.replace(place, f"python:{python}")
    asked = ab.request_of(ab.make_context("ab", shlex.split(printed)[2:]))
    # A function of the inputs has no use for the size, which the command has all the same.
    given = asked.given - {"size"}
    request = resolve(msgspec.structs.replace(asked, given=given), print, None, printed)
    for arm, is_new in zip(request.arms.values(), (False, True), strict=True):
        selection = selection_of(arm, request.selection)
        for name, value in {**settings, **effort}.items():
            expected = DEFAULTS[name] if name in differing and not is_new else value
            found = selection.phase if name == "phase" else getattr(selection.settings, name)
            assert found == expected, name
        assert selection.size == "small" and selection.patterns == ("relu",)
    assert request.framework == "numpy"


@pytest.mark.parametrize(("name", "value"), [("threads", 4), ("cache", "cold")])
def test_what_has_no_option_is_given_to_both_arms(command, entry, measured, name, value):
    run = measured(entry(settings=SETTINGS | {name: value}), framework="mxnet")
    threads = "" if name == "threads" else " --threads all"
    assert command(base=run, new=run) == (
        f"opperf ab relu --a python:/path/to/base/python --a {name}:{value} "
        f"--b python:/path/to/new/python --b {name}:{value}{threads}"
    )


def test_one_file_tells_of_both_what_the_other_does_not(command, entry, measured):
    # Averages tell nothing of their settings.
    averages = measured(entry(settings={}), averages=True)
    run = measured(
        entry(settings={}),
        entry(settings=SETTINGS | {"dtype": "float16"}),
        entry(settings=SETTINGS),
        selection={"size": "small"},
        framework="numpy",
    )
    words = f"opperf ab relu --size small {PYTHONS} --threads all --framework numpy --dtype float16"
    assert command(base=averages, new=run) == command(base=run, new=averages) == words


def test_what_differs_is_not_said_of_both(command, entry, measured):
    run = measured(entry(settings=SETTINGS | {"dtype": "float16"}), framework="numpy")
    differences = [Difference("settings.dtype", "float16", "float32")]
    assert command(differences=differences, base=run, new=run) == (
        "opperf ab relu --a dtype:float16 --b dtype:float32 --threads all --framework numpy"
    )
