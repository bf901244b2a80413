"""Verifications in the tables, files and sentences of a run."""

import csv
import io
import json

from opperf.formats import bencher
from opperf.formats.exporting import export_of
from opperf.instruments.profilers.summary import summarise
from opperf.model import Case, Header, OperatorTarget, Record, Run, Settings, Status
from opperf.reports.run_page import markdown_text
from opperf.reports.run_tables import run_text, verification_cell
from opperf.reports.summary import summarise as summary_of
from opperf.reports.summary import verification_sentences
from opperf.results.columns import csv_text
from opperf.results.opperf_json import meanings, results_by_operator
from opperf.results.runfile import merge
from tests.recordings import HERE
from tests.verifications import FAILED, PASSED, verified


def record(name="relu", mode="eager", found=None, time_ns=1000.0, **settings):
    case = Case(OperatorTarget("torch", name), {}, Settings(mode=mode, **settings), ("forward",))
    made = Record(
        case=case,
        id=case.id,
        status=Status.OK,
        summaries={"forward": summarise([time_ns] * 5, "ns")},
        samples={"forward": [time_ns] * 5},
        environment=HERE.id,
    )
    return verified(made, found)


def run(*records):
    header = Header(2, "2026-01-02T03:04:05+00:00", {})
    return Run(header, records, environments={HERE.id: HERE})


ROWS = [record(found=PASSED), record("exp", found=FAILED), record("log")]


def test_tables_have_a_column_only_where_it_was_asked_for():
    assert [*map(verification_cell, ROWS)] == ["PASS", "FAIL output", ""]
    text = run_text(ROWS)
    assert "Verification" in text.splitlines()[0] and "FAIL output" in text
    assert "Verification" not in run_text([record(), record("exp")])
    assert "FAIL output" in markdown_text(run(*ROWS))


def test_a_wrong_time_is_no_part_of_a_ratio():
    both = [record(found=PASSED), record(mode="compile", found=FAILED, time_ns=500.0)]
    text = run_text(both)
    assert "wrong" in text and "0.5" not in text
    honest = [record(found=PASSED), record(mode="compile", found=PASSED, time_ns=500.0)]
    assert "0.5" in run_text(honest)


def test_the_summary_counts_codes_and_names_what_is_wrong():
    (sentence,) = verification_sentences(ROWS)
    assert sentence.startswith(
        "1 of 2 results is wrong (1 PASS, 1 FAIL): exp in mode eager, output"
    )
    assert "its error is 0.01" in sentence
    assert verification_sentences([record(found=PASSED)]) == ["1 result verified: 1 PASS"]
    assert verification_sentences([record()]) == []
    many = [record(f"op{number}", found=FAILED) for number in range(5)]
    assert verification_sentences(many)[0].endswith("and 2 others")
    assert sentence in summary_of(run(*ROWS), 1.0, 10_000)
    two = [record(mode="compile", found=FAILED, threads=number) for number in (1, 2)]
    (sentence,) = verification_sentences(two)
    assert "in mode compile, threads 1, output" in sentence
    assert "in mode compile, threads 2, output" in sentence


def test_the_slowest_cases_lack_wrong_ones():
    many = [record(f"op{number}", found=PASSED) for number in range(12)]
    text = summary_of(run(*many, record("wrong_one", found=FAILED, time_ns=1e9)), 1.0)
    assert "Slowest" in text and "wrong_one" not in text.partition("Slowest")[2]


def test_csv_has_columns_of_it_only_where_it_was_asked_for():
    rows = list(csv.DictReader(io.StringIO(csv_text(run(*ROWS)))))
    assert [row["verification"] for row in rows] == ["PASS", "FAIL", ""]
    assert rows[1]["verification_method"] == "rmse" and rows[1]["verification_failed"] == "output"
    assert rows[1]["verification_reason"] == "its error is 0.01"
    assert "verification" not in csv.DictReader(io.StringIO(csv_text(run(record())))).fieldnames


def test_json_has_it_beside_the_figures():
    found = json.loads(json.dumps(results_by_operator(ROWS)))
    assert found["exp"][0]["verification"]["code"] == "FAIL"
    assert "verification" not in found["log"][0]
    assert "verification" in meanings(ROWS) and "verification" not in meanings([record()])


def test_of_several_rounds_a_wrong_one_counts():
    first, later = record(found=PASSED), record(found=FAILED)
    assert merge(first, [later]).verification == FAILED
    assert merge(first, [record()]).verification == PASSED
    assert merge(record(), [record()]).verification is None


def test_no_tool_tracks_the_time_of_a_wrong_result():
    found, warnings = bencher.write(export_of(run(*ROWS)))
    assert len(found) == 2 and not any(name.startswith("exp") for name in found)
    assert warnings == ["excluded: 1 case without a figure (1 wrong)"]
