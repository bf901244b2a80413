"""A page of a report: one file, whose data is what was measured, and never markup or a script."""

import base64
import hashlib
import json
import re
from pathlib import Path

import msgspec
import pytest

from opperf.model import Case, Note, NoteCode, OperatorTarget, Status, TensorSpec
from opperf.reports.model import Report, RunOnPage
from opperf.reports.pages import page
from opperf.reports.pages.content import ALL_SAMPLES, MOST_SAMPLES
from opperf.reports.pages.page import write_page, write_run
from tests.comparison.ab.test_report import report as session  # noqa: F401
from tests.comparison.files.reports.conftest import comparison, everything, row  # noqa: F401
from tests.recordings import called, recording, site
from tests.writing import compared, judged

HOSTILE = "</script><script>alert(1)</script><!-- \u2028 & <img src=x onerror=alert(1)>"


def data_of(text):
    """The data of a page, as its script reads them."""
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    return json.loads(found)


def table_of(text):
    table = data_of(text)["table"]
    titles = [column["title"] for column in table["columns"]]
    return [
        dict(zip(titles, shown["cells"], strict=True)) | {"row": shown} for shown in table["rows"]
    ]


def test_it_has_every_case_with_its_figures_and_what_measures_it_again(run, make_record):
    samples = [1_000_000.0 + index for index in range(30)]
    first = msgspec.structs.replace(run.records[0], samples={"forward": samples})
    case = msgspec.structs.replace(first.case, why="a hidden state")
    first = msgspec.structs.replace(first, case=case)
    run = msgspec.structs.replace(run, records=(first, *run.records[1:]))
    found = table_of(write_run(run))
    assert [shown["Operator"] for shown in found] == [one.case.label for one in run.records]
    relu = found[0]
    assert relu["Forward"] == [2_000_000, 100_000, 0] and relu["Memory"][0] == 4_194_304
    assert dict(relu["row"]["facts"])["Why these inputs"] == "a hidden state"
    (series,) = relu["row"]["samples"]
    assert series["values"] == [float(f"{one:.4g}") for one in samples] and series["taken"] == 30
    assert ["Measure it again", f"opperf run RUNFILE --id {first.id}"] in relu["row"]["code"]
    assert found[3]["Status"] == "skipped" and found[3]["Forward"] is None
    assert ["Not measured", "skipped: does not take int8"] in found[3]["row"]["facts"]


def test_a_case_that_the_run_did_not_come_to_is_listed(run):
    late = Case(target=OperatorTarget("mxnet", "late"), arguments={"data": TensorSpec((4,))})
    run = msgspec.structs.replace(run, cases=(*run.cases, late))
    last = table_of(write_run(run))[-1]
    assert (last["Operator"], last["Status"]) == ("late", "not measured")


def test_an_untimed_recording_has_its_cases_with_their_calls_and_places():
    often = called("mm", site("net.0", count=3, line=7), site("net.1", count=2, line=8))
    run = recording(called("relu", site(), shape=(4, 4)), often, calls=6)
    text = write_page(Report("report", "", (), None, runs=(RunOnPage("r.jsonl", run),)))
    found = {shown["Operator"]: shown for shown in table_of(text)}
    assert (found["mm"]["Status"], found["mm"]["Calls"][0], found["relu"]["Calls"][0]) == (
        "recorded",
        5,
        1,
    )
    places = dict(found["mm"]["row"]["facts"])["Called at"]
    assert "net.0 model.py:7 forward (3 calls); net.1" in places
    assert ["Measure it again", f"opperf run r.jsonl --id {often.id}"] in found["mm"]["row"]["code"]
    titles = [column["title"] for column in data_of(text)["table"]["columns"]]
    assert data_of(text)["table"]["order"] == [titles.index("Calls"), True]
    assert "<strong>6 calls</strong> recorded" in text and "not measured</li>" not in text


def test_it_begins_with_what_was_measured_where_and_how_sure_it_is(run):
    drifts = Note("forward", NoteCode.DRIFT, "later samples tend to be larger")
    first = msgspec.structs.replace(run.records[0], notes=(drifts,))
    run = msgspec.structs.replace(run, records=(first, *run.records[1:]))
    (environment,) = run.environments.values()
    head = re.search("<header>.*</header>", write_run(run), re.DOTALL)[0]
    assert environment.cpu in head and f"{environment.framework} " in head
    assert re.search(r"<strong>1 of \d+</strong> times uncertain", head)
    (median, uncertain) = data_of(write_run(run))["table"]["legend"]
    assert "95 % interval" in median and uncertain.startswith("? uncertain")


def test_links_at_the_top_lead_to_the_parts(run):
    text = write_run(run)
    (contents,) = re.findall("<nav.*?</nav>", text, re.DOTALL)
    links = re.findall('href="#(.*?)">(.*?)<', contents)
    assert ("results-title", "Every case") in links and "Not measured" in dict(links).values()
    assert all(f'id="{id}"' in text for id, _ in links)
    assert "Environment" not in dict(links).values(), "it is folded"


def test_the_command_that_decides_is_linked(comparison, row):  # noqa: F811
    found = comparison(row(), confirm="opperf ab relu")
    text = compared(found, "html")
    (id,) = re.findall('href="#(.*?)">To confirm<', text)
    assert "opperf ab relu" in text.partition(f'id="{id}"')[2]


def test_markup_of_paragraphs_is_shown_and_that_of_data_is_not():
    text = write_page(
        Report("compare", "", (), None, headline="`a\\_b`", answer=[f"**2** `{HOSTILE}`"])
    )
    assert "<strong>2</strong> <code>&lt;/script&gt;" in text and "<script>alert" not in text


def test_it_says_what_was_not_measured_and_why(run):
    text = write_run(run)
    assert "needs a class" in text and "does not take int8" in text and "signal 11" in text


def test_texts_are_neither_markup_nor_script(run, make_record):
    odd = make_record(HOSTILE, why=HOSTILE)
    bad = make_record(HOSTILE, Status.FAILED, reason=HOSTILE)
    header = msgspec.structs.replace(
        run.header, labels={HOSTILE: HOSTILE}, excluded={HOSTILE: HOSTILE}
    )
    run = msgspec.structs.replace(run, header=header, records=(odd, bad), cases=())
    text = write_run(run)
    assert "<script>alert" not in text and "<img" not in text and "\u2028" not in embedded(text)
    assert len(re.findall("<script", text)) == 1 + len(page.SCRIPTS)
    assert table_of(text)[0]["Operator"] == HOSTILE, "the data is as it was"


def embedded(text):
    return re.search(r'id="data">(.*?)</script>', text)[1]


def test_only_its_own_scripts_run_and_nothing_is_loaded(run):
    text = write_run(run)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    folder = Path(page.__file__).parent
    own = [hashlib.sha256((folder / name).read_bytes()).digest() for name in page.SCRIPTS]
    assert re.findall(r"'sha256-(.*?)'", policy) == [base64.b64encode(one).decode() for one in own]
    assert "default-src 'none'" in policy and "unsafe" not in policy.partition("style-src")[0]
    outside = text.replace(embedded(text), "")
    assert not re.search(r"""(src|href)=["']?(https?:)?//|@import|url\(""", outside)


def test_the_scripts_make_texts_only():
    for name in page.SCRIPTS:
        code = (Path(page.__file__).parent / name).read_text()
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", code
        )


def test_a_thousand_operators_take_less_than_3_mb(run, make_record):
    base = make_record("relu")
    samples = [123456.789 + index * 1.2345 for index in range(2 * MOST_SAMPLES)]
    records = []
    for index in range(1000):
        case = msgspec.structs.replace(
            base.case, target=OperatorTarget("torch", f"operator_{index}")
        )
        both = {"forward": samples, "backward": samples}
        records.append(msgspec.structs.replace(base, case=case, id=case.id, samples=both))
    run = msgspec.structs.replace(run, records=tuple(records), cases=())
    text = write_run(run)
    assert len(text) < 3_000_000
    kept = [one["values"] for shown in data_of(text)["table"]["rows"] for one in shown["samples"]]
    assert sum(map(len, kept)) <= ALL_SAMPLES and min(map(len, kept)) >= 50


def test_points_of_a_sweep_are_charts(run, make_point):
    records = tuple(
        make_point(name, n * factor, n)
        for name, factor in (("relu", 1), ("exp", 2))
        for n in (64, 128, 256)
    )
    run = msgspec.structs.replace(run, records=records, cases=())
    first, *_ = data_of(write_run(run))["charts"]
    lines = {line["name"]: line["points"] for line in first["lines"]}
    assert [point[0] for point in lines["relu"]] == [64, 128, 256]
    assert [point[1] for point in lines["exp"]] == [2 * point[1] for point in lines["relu"]]


def test_several_runs_are_told_apart(run):
    runs = (RunOnPage("a.jsonl", run), RunOnPage("b.jsonl", run))
    text = write_page(Report("report", "", (), None, runs=runs))
    assert {shown["Run"] for shown in table_of(text)} == {"a.jsonl", "b.jsonl"}


def test_scripts_of_cases_stand_once_without_what_they_share(run):
    first, second, *_ = run.records
    scripts = {
        first.id: "import numpy as np\n\nfirst()\n",
        second.id: "import numpy as np\n\nsecond()\n",
    }
    text = write_page(Report("report", "", (), None, runs=(RunOnPage("a.jsonl", run, scripts),)))
    found = data_of(text)
    assert found["preamble"] == "import numpy as np"
    code = [dict(map(tuple, shown["row"]["code"])) for shown in table_of(text)]
    assert code[0]["Script"].strip() == "first()" and "Script" not in code[2]


def test_a_comparison_has_intervals_against_the_threshold(comparison, row):  # noqa: F811
    found = comparison(row(ratio=1.5, low=1.4, high=1.6, note=HOSTILE))
    text = compared(found, "html")
    (shown,) = table_of(text)
    assert shown["95 % interval"] == [1.5, 1.4, 1.6] and shown["Ratio"] == 1.5
    assert data_of(text)["table"]["threshold"] == found.threshold
    assert shown["row"]["notes"] == [HOSTILE] and "<script>alert" not in text


def test_a_session_has_verdicts_and_detectable_changes(session):  # noqa: F811
    text = judged(session, "html")
    found = table_of(text)
    assert {shown["Verdict"][0] for shown in found} == {
        shown.verdict.value for shown in session.rows
    }
    measured = [shown.detectable for shown in session.rows if shown.detectable is not None]
    shown = [shown["Detectable"] for shown in found if shown["Detectable"] is not None]
    assert sorted(shown) == pytest.approx(sorted(100 * one for one in measured), rel=1e-4)
    same = f"{100 * session.same_within:g}%"
    assert any(same in sentence for sentence in data_of(text)["table"]["legend"])


def test_what_the_script_leaves_is_said_where_none_runs(run):
    assert "<noscript>" in write_run(run)


def test_a_report_without_data_has_no_script(run):
    run = msgspec.structs.replace(run, records=(), cases=())
    assert "<script" not in write_run(run)
