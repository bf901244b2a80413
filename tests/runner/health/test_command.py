"""What `opperf doctor` prints, and how it ends."""

import json
import re
import sys
from array import array

import pytest
from click.testing import CliRunner

from opperf.commands.doctor import doctor
from opperf.errors import FOUND
from opperf.runner.health import command
from opperf.runner.health.examine import PROBES
from opperf.runner.health.finding import Finding
from opperf.runner.health.jitter import Jitter, Timer
from opperf.runner.health.report import print_report, report_text

BOOST = "sys/devices/system/cpu/cpufreq/boost"
NOISY = {"proc/loadavg": "9 9 9 1/2 3"}


@pytest.fixture
def doctored(quiet, monkeypatch):
    """The command on a machine that is quiet but for these files, and has Valgrind."""
    installed = Finding("instructions", "valgrind-3.19.0", "ok", "Why.")
    monkeypatch.setattr(command, "instructions_finding", lambda: installed)

    def run(*arguments, **changed):
        monkeypatch.setattr(command, "this_machine", lambda variables: quiet(**changed))
        return CliRunner().invoke(doctor, ["--framework", "numpy", *arguments])

    return run


def test_the_command_tells_every_finding_on_a_line(doctored):
    done = doctored("--seconds", "0")
    names = [probe.name.replace("_", " ") for probe in PROBES]
    table, closing = done.output.strip().split("\n\n")
    rows = [re.split(r"  +", line) for line in table.splitlines()[2:]]
    assert [name for name, *_ in rows] == [*names, "timer", "jitter", "instructions"]
    assert rows[-2] == ["jitter", "unknown", "not measured: --seconds 0"]
    assert closing == f"0 warnings, 1 unknown, {len(rows) - 1} ok"
    assert done.exit_code == 0 and "\x1b" not in done.output


def test_each_warning_has_its_reason_and_its_command(doctored):
    done = doctored("--seconds", "0", **NOISY, **{BOOST: "1"})
    _, turbo, load, closing = done.output.strip().split("\n\n")
    assert turbo.startswith("turbo: The clock depends")
    assert turbo.endswith("\n    echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost")
    assert load.startswith("load: Whatever else runs")
    assert closing.startswith("2 warnings, ")


def test_only_when_strict_is_a_warning_a_failure(doctored):
    assert doctored("--seconds", "0", "--strict").exit_code == 0
    assert doctored("--seconds", "0", **NOISY).exit_code == 0
    assert doctored("--seconds", "0", "--strict", **NOISY).exit_code == FOUND


def test_as_json_it_has_the_numbers_too(doctored):
    # Standard error has the line that says what takes so long.
    written = doctored("--seconds", "0.01", "--json").output
    report = json.loads(written[written.index("{") :])
    findings = {one["name"]: one for one in report["findings"]}
    assert findings["governor"]["state"] == "performance"
    assert findings["steal"]["state"].endswith("during the jitter test")
    assert report["jitter"]["quanta"] > 0 and report["timer"]["step_ns"] > 0
    assert set(findings["aslr"]) == {"name", "state", "level", "explanation", "fix"}


@pytest.fixture
def steady(monkeypatch):
    """A jitter test on a core that does the same work in the same time; returns the
    lengths of its tests."""
    asked = []
    monkeypatch.setattr(command, "make_quantum", lambda: None)
    monkeypatch.setattr(
        command,
        "repeat_for",
        lambda seconds, work: asked.append(seconds) or array("q", [20_000] * 1000),
    )
    return asked


def test_the_wait_is_announced(quiet, steady, capsys):
    found = command.report(quiet(), 5.0)
    assert steady == [5.0] and found.jitter.quanta == 1000
    assert capsys.readouterr().err == "keeping a core busy for 5.0 s to measure its jitter\n"
    command.report(quiet(), 0)
    assert steady == [5.0] and capsys.readouterr().err == ""


def test_stolen_time_is_that_of_the_test(quiet, steady, monkeypatch):
    machine = quiet(**{"proc/stat": "cpu 60 20 10 900 5 5 5 100 0 0"})

    def states():
        return {one.name: (one.state, one.level) for one in command.report(machine, 5.0).findings}

    # All that was stolen, half of the time since boot, was stolen before the test.
    assert states()["steal"] == ("0.0% of the busy time during the jitter test", "ok")
    assert list(states()) == [*(probe.name for probe in PROBES), "timer", "jitter", "instructions"]


def test_stolen_time_may_be_unreadable(quiet, steady):
    found = command.report(quiet(**{"proc/stat": "cpu many"}), 5.0)
    (one,) = (finding for finding in found.findings if finding.name == "steal")
    assert one.level == "unknown" and found.jitter is not None


@pytest.mark.parametrize("kind", [command.Report, Finding, Jitter, Timer])
def test_what_was_found_is_not_changed_afterwards(kind):
    assert kind.__struct_config__.frozen


def test_a_narrow_terminal_wraps_all_but_commands(doctored):
    command_line = "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
    findings = [
        Finding("turbo", "on " * 30, "warn", "It is on. " * 20, command_line),
        Finding("smt", "off", "ok", "Why."),
    ]
    lines = report_text(findings, 40).splitlines()
    assert f"    {command_line}" in lines
    assert all(len(line) <= 40 for line in lines if command_line not in line)


def test_a_terminal_has_the_levels_in_colour(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_report([Finding("turbo", "warn me", "warn", "Why, I warn you.", "")], 80)
    assert re.findall(r"\x1b\[[^m]*m(\w+)\x1b\[0m", capsys.readouterr().out) == ["warn"]
