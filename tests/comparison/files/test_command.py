"""The command `compare`: exit codes, refusals, and what is written where."""

import json
import math
import subprocess
import sys

import msgspec
import pytest

from opperf.comparison.files.telling import LOOKED_FOR
from opperf.model import Status
from opperf.reports.formats import REPORT, formats_of
from opperf.requests.comparing import FINDINGS


@pytest.fixture
def files(run, record, saved):
    """Two runs: one operator got slower and larger, one faster, one is as it was, one is gone."""
    names = ("relu", "exp", "log", "gone")
    base = run(*(record(name) for name in names))
    new = run(record("relu", factor=2.0, memory=2e6), record("exp", factor=0.5), record("log"))
    return saved(base, "base.jsonl"), saved(new, "new.jsonl")


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ((), 1, "opperf: 1 regressed, 1 missing"),
        (("--filter", "log"), 0, ""),
        (("--fail-on", "none"), 0, ""),
        (("--fail-on", "regressed"), 1, "opperf: 1 regressed"),
        (("--fail-on", "suspect"), 1, "opperf: 2 suspect"),
        (("--fail-on", "missing"), 1, "opperf: 1 missing"),
        (("--fail-on", "regressed,suspect,missing"), 1, "1 regressed, 2 suspect, 1 missing"),
        (("--fail-on", "suspect", "--filter", "log"), 0, ""),
        (("--fail-on", "suspect", "--filter", "exp"), 0, ""),
        (("--fail-on", "missing", "--filter", "log"), 0, ""),
        (("--fail-on", "regressed", "--metric", "forward"), 3, "whether anything is regressed"),
        (("--fail-on", "regressed,suspect", "--metric", "forward", "--filter", "log"), 0, ""),
        (("--fail-on", "regressed", "--base-is", "second", "--filter", "relu"), 0, ""),
    ],
)
def test_exit_codes(files, outcome, options, code, said):
    found, printed, told = outcome(*files, *options)
    assert (found, said in told) == (code, True)
    assert "relu" in printed or "--filter" in options


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--threshold", "2%"), 1),
        (("--threshold", "5%"), 0),
        (("--tolerance", "memory=5%"), 0),
        (("--tolerance", "relu:memory=23000"), 0),
        (("--tolerance", "relu:memory=22999"), 1),
        # The one that names more comes first.
        (("--threshold", "5%", "--tolerance", "memory=1%"), 1),
    ],
)
def test_what_a_figure_without_scatter_is_held_against(
    run, record, saved, outcome, tmp_path, monkeypatch, options, code
):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    files = [
        saved(run(record(memory=size)), name)
        for name, size in (("base.jsonl", 1e6), ("new.jsonl", 1.023e6))
    ]
    command = (*files, "--metric", "memory", "--fail-on", "regressed")
    assert outcome(*command, *options)[0] == code
    # The same by a file, which the options replace.
    (tmp_path / "opperf.toml").write_text('[tolerance]\nmemory = "3%"\n')
    found, printed, _ = outcome(*command)
    assert found == 0 and "memory 3% or 4096 B, by opperf.toml." in printed
    assert outcome(*command, "--tolerance", "memory=2%")[0] == 1


def test_a_session_has_its_own_thresholds(outcome, tmp_path):
    code, _, told = outcome("--from-ab", tmp_path / "s.jsonl", "--threshold", "5%")
    assert code == 2 and "--threshold does not apply to --from-ab" in told


def test_exit_code_where_nothing_can_be_decided(run, record, saved, outcome):
    few = saved(run(record(samples=3)), "few.jsonl")
    options = (few, few, "--metric", "forward")
    assert outcome(*options)[0] == 0
    code, _, told = outcome(*options, "--fail-on", "suspect")
    assert code == 3 and "every common case is ambiguous" in told


def test_base_is_second_turns_the_comparison(files, compared):
    base, new = files
    one = compared(base, new, "--metric", "memory")
    other = compared(new, base, "--base-is", "second", "--metric", "memory")
    assert one == other
    assert one["sides"][0]["path"] == str(base)


def test_the_same_file_twice_is_warned_of(files, outcome):
    code, _, told = outcome(files[0], files[0])
    assert code == 0
    assert "are the same file" in told


def changed_text(path, change):
    path.write_text(change(path.read_text()))
    return path


def without_end(text):
    return text[: -len(text) // 3]


DAMAGES = {
    "empty": (lambda text: "", "1: not a run file: the file is empty"),
    "cut short in the header": (lambda text: text[:80], "the header is cut short"),
    "header alone": (lambda text: text.partition("\n")[0] + "\n", "the run has no record yet"),
    "another version": (
        lambda text: text.replace('"schema":2', '"schema":99', 1),
        "written in version 99 of the run file",
    ),
    "not JSON": (lambda text: "Operator  Time\n", "neither a run file nor results by operator"),
    "other JSON": (lambda text: "[1, 2]", "not results by operator: the JSON is not an object"),
    "other object": (lambda text: '{"relu": 3}', "'relu' has no list of results"),
    "no results": (lambda text: "{}", "has no results"),
    "cut short results": (lambda text: '{"relu": [{"inputs"', "is it truncated?"),
    "two runs": (lambda text: text + text, "two runs seem to be in one file"),
}


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("damage", DAMAGES)
def test_bad_input_is_one_clear_line(files, outcome, tmp_path, damage, side):
    change, words = DAMAGES[damage]
    changed_text(files[side], change)
    output = tmp_path / "out.md"
    code, printed, told = outcome(*files, "-f", "md", "-o", output)
    assert (code, printed) == (2, "")
    assert words in told and str(files[side]) in told and "\n" not in told
    assert not output.exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("nothing.jsonl", "nothing.jsonl"), "nothing.jsonl cannot be read: No such file"),
        ((".", "."), ". cannot be read: Is a directory"),
    ],
)
def test_no_file(outcome, options, words):
    code, _, told = outcome(*options)
    assert code == 2 and words in told


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--metric", "speed"), "'speed' is not one of forward, backward, total, kernel, "),
        (("--metric", ""), "'' is empty"),
        (("--metric", "instructions"), "has the metric instructions; available: forward"),
        (("--threshold", "5"), "'5' is not a share between 0 and 1; write 5% or 0.05"),
        (("--threshold", "0"), "is not a share"),
        (("--threshold", "much"), "is not a share"),
        (("--fail-on", "slower"), "'slower' is not one of regressed, improved, suspect, missing"),
        (("--filter", "zzz"), "no operator in either file matches 'zzz'"),
        (("-f", "xml"), "'xml' is not one of"),
        (("--base-is", "third"), "'third' is not one of"),
        (("-o", "no/folder.md"), "the folder"),
    ],
)
def test_wrong_usage(files, outcome, options, words):
    code, printed, told = outcome(*files, *options)
    assert (code, printed) == (2, "")
    assert words in told


@pytest.mark.parametrize(("share", "verdict"), [("150%", None), ("60 %", "uns"), ("0.6", "uns")])
def test_the_threshold_is_a_share(files, outcome, share, verdict):
    code, printed, _ = outcome(*files, "--threshold", share, "--filter", "exp")
    assert code == (0 if verdict else 2)
    assert not verdict or "suspect (" in printed


def test_a_run_that_was_cut_short_is_compared_as_far_as_it_goes(run, record, saved, outcome):
    base = saved(run(record("relu"), record("exp")), "base.jsonl")
    torn = run(record("relu"), record("exp"), finished=False)
    new = changed_text(saved(torn, "new.jsonl"), lambda text: text[:-100])
    code, printed, told = outcome(base, new, "--fail-on", "missing")
    assert code == 1
    assert f"{new}: the last line was cut short" in told
    assert f"{new}: the run was not finished, 1 case are missing" not in told
    assert "1 case has no record" in told
    assert "In base only: 1 case: exp" in printed


def test_figures_that_are_no_numbers_are_told_of(run, record, saved, outcome):
    one = record()
    broken = {
        metric: msgspec.structs.replace(summary, median=math.nan)
        for metric, summary in one.summaries.items()
    }
    odd = saved(run(msgspec.structs.replace(one, summaries=broken)), "odd.jsonl")
    usual = saved(run(one), "usual.jsonl")
    code, printed, told = outcome(usual, odd)
    assert code == 0 and "1 ambiguous: a figure is not finite" in printed
    assert f"{odd}: 3 figures are not finite, e.g. relu forward" in told
    assert outcome(usual, odd, "--fail-on", "regressed,suspect")[0] == 3


def test_results_with_nan_are_told_of(run, record, saved, outcome, tmp_path):
    path = tmp_path / "odd.json"
    path.write_text('{"relu": [{"inputs": {"data": [4, 4]}, "avg_time_forward_relu": NaN}]}')
    code, printed, told = outcome(saved(run(record()), "base.jsonl"), path)
    assert code == 0 and "1 ambiguous" in printed
    assert f"{path}: 1 figure is not finite: relu forward" in told


def test_a_pass_that_new_results_lack_is_missing(outcome, tmp_path):
    times = {"avg_time_forward_relu": 1.0, "avg_time_backward_relu": 2.0}
    other = {"exp": [{"inputs": {}, "avg_time_forward_exp": 1.0, "avg_time_backward_exp": 2.0}]}
    paths = []
    for name, own in (("base", times), ("new", {"avg_time_forward_relu": 1.0})):
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps({"relu": [{"inputs": {}, **own}], **other}))
    code, printed, told = outcome(*paths)
    assert (code, "relu backward: not in the results" in printed) == (1, True)
    assert told.endswith("opperf: 1 missing\n")
    # Of no case of the file it was to be measured.
    paths[1].write_text(json.dumps({"relu": [{"inputs": {}, "avg_time_forward_relu": 1.0}]}))
    paths[0].write_text(json.dumps({"relu": [{"inputs": {}, **times}]}))
    assert outcome(*paths)[0] == 0


def test_nothing_is_overwritten(files, outcome, tmp_path):
    output = tmp_path / "report.md"
    output.write_text("mine")
    code, _, told = outcome(*files, "-o", output, "-f", "md")
    assert code == 2 and "exists; add --overwrite" in told and output.read_text() == "mine"
    assert outcome(*files, "-o", output, "-f", "md", "--overwrite")[0] == 1
    assert output.read_text().startswith("## Operators")
    before = files[1].read_bytes()
    (tmp_path / "link").symlink_to(files[1])
    code, _, told = outcome(*files, "-o", tmp_path / "link", "--overwrite")
    assert code == 2 and "is an input, and would be overwritten" in told
    assert files[1].read_bytes() == before


def test_a_dash_is_standard_output(files, outcome, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert outcome(*files, "-f", "md", "-o", "-") == outcome(*files, "-f", "md")
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize("name", formats_of(REPORT))
def test_a_report_in_a_file_is_the_one_that_is_printed(files, outcome, tmp_path, name):
    output = tmp_path / "report"
    code, printed, told = outcome(*files, "-f", name, "-o", output, "--fail-on", "missing")
    assert (code, printed) == (1, "")
    assert f"written to {output}" in told
    assert outcome(*files, "-f", name, "--fail-on", "missing")[1] == output.read_text()


def test_the_options_know_what_there_is():
    assert FINDINGS == LOOKED_FOR


def test_help_loads_nothing_that_compares():
    program = (
        "import sys\n"
        "from opperf.opperf import main\n"
        "try: main(['compare', '--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'scipy', 'mxnet', 'rich', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.endswith("[]\n"), done.stdout + done.stderr
    assert "--fail-on" in done.stdout


def test_a_crash_on_one_side_is_missing(run, record, saved, outcome):
    base = saved(run(record()), "base.jsonl")
    new = saved(run(record(status=Status.CRASHED, reason="signal 11")), "new.jsonl")
    code, printed, told = outcome(base, new, "--fail-on", "missing")
    assert (code, told.strip()) == (1, "opperf: 1 missing")
    assert "crashed: signal 11" in printed
    code, _, told = outcome(base, new, "--fail-on", "suspect")
    assert code == 3


def test_json_is_whole_where_there_is_nothing(run, record, saved, compared):
    path = saved(run(record(memory=None, backward=False)), "a.jsonl")
    found = compared(path, path, "--metric", "forward")
    assert found["confirm"] == "" and found["changes"] == [] and found["environment"] == []
    json.dumps(found)


@pytest.mark.parametrize(
    "given", [(), ("base",), ("base", "--from-ab", "base"), ("base", "new", "--from-ab", "base")]
)
def test_two_files_or_a_session(files, outcome, given):
    named = {"base": files[0], "new": files[1]}
    found, printed, told = outcome(*(named.get(word, word) for word in given))
    assert (found, printed) == (2, "")
    assert "name two files of results, BASE and NEW, or --from-ab FILE alone" in told


def test_a_run_file_is_no_session(files, outcome):
    found, _, told = outcome("--from-ab", files[0])
    assert found == 2 and f"{files[0]}: it is a run, and no session of `opperf ab`" in told
