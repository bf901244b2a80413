"""Prints of `opperf doctor`, its exit code, and its report as text."""

import json
import re
import sys
from array import array

import msgspec
import pytest
from click.testing import CliRunner

from opperf.commands.registry import doctor
from opperf.errors import FOUND, UsageError
from opperf.folders import DATA
from opperf.instruments.callgrind import valgrind
from opperf.machine.health import jitter
from opperf.machine.health.examine import PROBES
from opperf.machine.health.finding import Finding
from opperf.machine.health.jitter import Health, Jitter, Timer
from opperf.machine.kept_peaks import kept
from opperf.model import BandwidthPeak, DispatchPeak, Peaks, ProductPeak
from opperf.reports import writing
from opperf.reports.this_machine import report_of_health
from opperf.requests import machine as module
from opperf.requests.machine import DoctorRequest, instructions_finding, peaks_finding
from opperf.results.messages import tell
from opperf.results.output import STDOUT, Output
from tests.writing import told


def reported(findings):
    return report_of_health(Health(findings, jitter.timer(), None))


def findings_text(findings, width=None):
    return told(reported(findings), width=width).rstrip("\n")


BOOST = "sys/devices/system/cpu/cpufreq/boost"
NOISY = {"proc/loadavg": "9 9 9 1/2 3"}


@pytest.fixture
def doctored(quiet, monkeypatch):
    """The command on a machine that is quiet but for these files, and has Valgrind."""
    installed = Finding("instructions", "valgrind-3.19.0", "ok", "Why.")
    measured = Finding("peaks", "measured today", "ok", "Why.")
    monkeypatch.setattr(module, "instructions_finding", lambda: installed)
    monkeypatch.setattr(module, "peaks_finding", lambda machine: measured)

    def run(*arguments, **changed):
        monkeypatch.setattr(module, "this_machine", lambda variables: quiet(**changed))
        return CliRunner().invoke(doctor, ["--framework", "numpy", *arguments])

    return run


def test_the_command_tells_every_finding_on_a_line(doctored):
    done = doctored("--seconds", "0")
    names = [probe.name.replace("_", " ") for probe in PROBES]
    table, closing = done.output.strip().split("\n\n")
    rows = [re.split(r"  +", line) for line in table.splitlines()[2:]]
    assert [name for name, *_ in rows] == [*names, "timer", "jitter", "instructions", "peaks"]
    assert rows[-3] == ["jitter", "unknown", "not measured: --seconds 0"]
    assert closing == f"0 warnings, 1 unknown, {len(rows) - 1} ok"
    assert done.exit_code == 0 and "\x1b" not in done.output


def test_each_warning_has_its_reason_and_its_command(doctored):
    done = doctored("--seconds", "0", **NOISY, **{BOOST: "1"})
    _, turbo, fix, load, _, closing = done.output.strip().split("\n\n")
    assert turbo.startswith("turbo: The clock depends")
    assert fix == "    echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
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
    monkeypatch.setattr(jitter, "make_quantum", lambda: None)
    monkeypatch.setattr(
        jitter,
        "repeat_for",
        lambda seconds, work: asked.append(seconds) or array("q", [20_000] * 1000),
    )
    return asked


def test_the_wait_is_announced(quiet, steady, capsys):
    found = module.examine_health(quiet(), 5.0, tell)
    assert steady == [5.0] and found.jitter.quanta == 1000
    assert capsys.readouterr().err == "keeping a core busy for 5.0 s to measure its jitter\n"
    module.examine_health(quiet(), 0, tell)
    assert steady == [5.0] and capsys.readouterr().err == ""


def test_stolen_time_is_that_of_the_test(quiet, steady, monkeypatch):
    machine = quiet(**{"proc/stat": "cpu 60 20 10 900 5 5 5 100 0 0"})

    def states():
        return {
            one.name: (one.state, one.level)
            for one in module.examine_health(machine, 5.0, tell).findings
        }

    # All that was stolen, half of the time since boot, was stolen before the test.
    assert states()["steal"] == ("0.0% of the busy time during the jitter test", "ok")
    others = ["timer", "jitter", "instructions", "peaks"]
    assert list(states()) == [*(probe.name for probe in PROBES), *others]


def test_stolen_time_may_be_unreadable(quiet, steady):
    found = module.examine_health(quiet(**{"proc/stat": "cpu many"}), 5.0, tell)
    (one,) = (finding for finding in found.findings if finding.name == "steal")
    assert one.level == "unknown" and found.jitter is not None


@pytest.mark.parametrize("kind", [Health, Finding, Jitter, Timer])
def test_what_was_found_is_not_changed_afterwards(kind):
    assert kind.__struct_config__.frozen


def test_a_narrow_terminal_wraps_all_but_commands(doctored):
    command_line = "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
    findings = [
        Finding("turbo", "on " * 30, "warn", "It is on. " * 20, command_line),
        Finding("smt", "off", "ok", "Why."),
    ]
    lines = findings_text(findings, 40).splitlines()
    assert f"    {command_line}" in lines
    assert all(len(line) <= 40 for line in lines if command_line not in line)


def test_a_terminal_has_the_levels_in_colour(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(writing, "terminal_width", lambda: 80)
    finding = Finding("turbo", "warn me", "warn", "Why, I warn you.", "")
    writing.write_reports(reported([finding]), [Output(STDOUT, "text")])
    assert re.findall(r"\x1b\[[^m]*m(\w+)\x1b\[0m", capsys.readouterr().out) == ["warn"]


def installed(tmp_path, monkeypatch):
    path = tmp_path / "valgrind"
    path.write_text("#!/bin/sh\necho valgrind-3.19.0\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


def test_without_valgrind_it_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = instructions_finding()
    assert found.level == "unknown" and "apt-get install valgrind" in found.state


def test_with_valgrind(tmp_path, monkeypatch):
    installed(tmp_path, monkeypatch)
    monkeypatch.setattr(valgrind, "library", lambda: tmp_path)
    assert instructions_finding().state == "valgrind-3.19.0"


def test_without_a_compiler(tmp_path, monkeypatch):
    installed(tmp_path, monkeypatch)
    monkeypatch.setenv("CC", "no-such-cc")
    valgrind.library.cache_clear()
    found = instructions_finding()
    assert found.level == "ok"
    assert found.state == "valgrind-3.19.0, without opperf's allocator: no C compiler no-such-cc"


LONG = Finding("cpu_quota", "seven by seven " * 20, "warn", "It is " * 40 + "so.", "make it so")
SHORT = Finding("smt", "off", "ok", "Why.")


def table_of(report):
    return report.split("\n\n")[0].splitlines()


@pytest.mark.parametrize("width", [60, 100, 200])
def test_a_terminal_is_filled_and_not_exceeded(width):
    lines = findings_text([LONG, SHORT], width).splitlines()
    longest_word = len("seven")
    assert width - longest_word - 1 <= max(map(len, lines)) <= width
    table = max(map(len, table_of(findings_text([LONG, SHORT], width))))
    assert width - longest_word - 1 <= table <= width


def test_without_a_terminal_nothing_is_wrapped():
    rows = table_of(findings_text([LONG, SHORT]))
    assert len(rows) == 4 and LONG.state.strip() in rows[2]
    assert "\n\n    make it so\n\n" in findings_text([LONG, SHORT])


def test_rows_have_no_blanks_at_their_ends():
    for width in (None, 60):
        assert all(
            line == line.rstrip() for line in findings_text([LONG, SHORT], width).splitlines()
        )


def test_only_warnings_are_explained_and_all_are_counted():
    unknown = Finding("turbo", "no file", "unknown", "Why not.")
    blocks = findings_text([LONG, SHORT, unknown, SHORT]).split("\n\n")
    assert len(blocks) == 4 and blocks[1].startswith("cpu quota: It is")
    assert blocks[-1] == "1 warning, 1 unknown, 2 ok"


def test_a_warning_that_no_command_mends_has_none():
    heat = Finding("temperature", "91 C", "warn", "It is hot.")
    assert findings_text([heat]).split("\n\n")[1] == "temperature: It is hot."


PEAKS = Peaks(
    device="cpu(0)",
    measured="2026-11-30T12:00:00+00:00",
    bandwidths=(BandwidthPeak(level="L2", kernel="copy", threads=2, bytes=2**21, rate=2.5e11),),
    products=(ProductPeak(dtype="float32", threads=2, rate=2.04e11, by="numpy 2.0, 1024"),),
    dispatches=(DispatchPeak(framework="numpy", ns=300.5),),
)

ON_GPU = Peaks(
    device="gpu(0)",
    measured="2026-11-30T12:00:00+00:00",
    products=(ProductPeak(dtype="float16", threads=0, rate=8e14, by="torch 2.13, 8192"),),
)


@pytest.fixture
def busy(quiet):
    return quiet(**NOISY)


@pytest.fixture
def peaked(tmp_path, monkeypatch, busy):
    """`doctor --peaks` of a busy machine with these peaks, which are kept."""
    monkeypatch.setenv(DATA, str(tmp_path))
    monkeypatch.setattr(module, "this_machine", lambda variables: busy)
    asked = []

    def measure(frameworks, usable, say, earlier):
        asked.append(frameworks)
        assert earlier == kept(usable).peaks
        return (PEAKS, ON_GPU)

    monkeypatch.setattr("opperf.execution.device_peaks.measure_peaks", measure)

    def run(*arguments, said="kept in "):
        done = CliRunner().invoke(doctor, ["--peaks", *arguments])
        assert done.exit_code == 0
        load, kept_in = done.stderr.splitlines()
        assert load.startswith("warning: load 9.00 in the last minute") and kept_in.startswith(said)
        return done.stdout, asked.pop()

    return run


def test_peaks_are_in_tables_of_each_device_and_kept(peaked, busy):
    finding = peaks_finding(busy)
    assert (finding.level, finding.fix) == ("unknown", "opperf doctor --peaks")
    text, _ = peaked()
    assert (
        re.sub("-+", "-", re.sub(" +", " ", text))
        == """\
cpu(0): bandwidth

Level Kernel Threads Rate GB/s
- - - -
L2 copy 2 250.0

cpu(0): products of matrices

Dtype Threads Rate GFLOP/s By, extent
- - - -
float32 2 204.0 numpy 2.0, 1024

cpu(0): shortest call

Framework Time ns
- -
numpy 300.5

gpu(0): products of matrices

Dtype Rate TFLOP/s By, extent
- - -
float16 800.0 torch 2.13, 8192
"""
    )
    assert kept(busy.cpus).peaks == (PEAKS, ON_GPU)
    state = "measured 2026-11-30T12:00:00+00:00, of cpu(0), gpu(0)"
    finding = peaks_finding(busy)
    assert (finding.state, finding.level, finding.fix) == (state, "ok", "")


def test_peaks_as_files_have_all_digits(peaked):
    text, frameworks = peaked("--framework", "numpy", "--format", "csv")
    assert frameworks == ["numpy"]
    assert text.splitlines() == [
        "device,peak,of,kernel,threads,value,unit,by",
        "cpu(0),bandwidth,L2,copy,2,250000000000.0,B/s,",
        'cpu(0),product,float32,,2,204000000000.0,FLOP/s,"numpy 2.0, 1024"',
        "cpu(0),dispatch,numpy,,,300.5,ns,",
        'gpu(0),product,float16,,,800000000000000.0,FLOP/s,"torch 2.13, 8192"',
    ]
    text, frameworks = peaked("--json")
    assert "numpy" in frameworks
    assert msgspec.json.decode(text, type=tuple[Peaks, ...]) == (PEAKS, ON_GPU)
    assert "<td>L2</td>" in peaked("--format", "html")[0]
    assert "| L2      | copy     |         2 |         250.0 |" in peaked("--format", "md")[0]


def test_peaks_that_cannot_be_kept_are_printed(peaked, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(DATA, str(tmp_path / "file"))
    assert "cpu(0): bandwidth" in peaked(said="warning: not kept: ")[0]


def test_an_unknown_framework_is_refused_before_anything_is_measured(peaked, busy):
    with pytest.raises(UsageError, match="unknown framework 'numpi'; did you mean numpy"):
        DoctorRequest(peaks=True, framework="numpi").measure_peaks(tell)
    assert kept(busy.cpus).peaks == ()


def test_peaks_of_a_damaged_file_are_unknown_and_the_finding_says_why(peaked, busy, tmp_path):
    peaked()
    (file,) = tmp_path.glob("peaks/*.json")
    file.write_text("{")
    finding = peaks_finding(busy)
    assert finding.level == "unknown" and finding.state.startswith(f"{file} has no peaks that")
