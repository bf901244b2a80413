"""Parts of a run, joined."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from opperf.commands.run_files import merge as command
from opperf.errors import RunFileError
from opperf.instruments.profilers.summary import summarise
from opperf.model import Case, Closing, Header, OperatorTarget, ProcessResult, Record, Run, Status
from opperf.reports.writing import runfile_text
from opperf.results.kept import streams_of
from opperf.results.merging import Part, copy_streams, merge_parts
from opperf.results.runfile import read_run
from tests.recordings import HERE, THERE

CASES = [Case(OperatorTarget("numpy", name), {}) for name in ("add", "exp", "log", "sin")]


def record(case, time=1.0, status=Status.OK, where=HERE):
    summaries = {"forward": summarise([time], "ns")} if status is Status.OK else {}
    return Record(case=case, id=case.id, status=status, summaries=summaries, environment=where.id)


def part(tmp_path, number, *records, cases=(), partition=None, closed=True, labels=None):
    options = {"selection": {"partition": partition, "rounds": 1}} if partition else {}
    header = Header(2, f"2026-01-0{number}T00:00:00+00:00", options, labels=labels or {})
    closing = Closing(f"2026-01-0{number}T01:00:00+00:00", 60.0, {"ok": len(records)})
    planned = (*(one.case for one in records), *cases)
    environments = {where.id: where for where in (HERE, THERE)}
    run = Run(header, tuple(records), closing if closed else None, environments, planned)
    return Part(tmp_path / f"{number}.jsonl", run)


def test_each_case_is_there_once_with_its_environment(tmp_path):
    parts = [
        part(tmp_path, 2, record(CASES[0]), record(CASES[1]), labels={"build": "a", "job": "0"}),
        part(tmp_path, 1, record(CASES[2], where=THERE), labels={"build": "a", "job": "1"}),
    ]
    merged, warnings = merge_parts(parts)
    assert [one.id for one in merged.records] == [case.id for case in CASES[:3]]
    assert merged.environments[merged.records[2].environment].cpu == "Another CPU"
    assert merged.header.started.startswith("2026-01-01") and merged.header.labels == {"build": "a"}
    assert merged.closing.counts == {"ok": 3} and merged.closing.elapsed_s == 120
    assert merged.closing.finished.startswith("2026-01-02") and warnings == []


def test_streams_of_the_records_that_count_are_copied(tmp_path):
    process = ProcessResult(name="0", status=Status.OK, stream="a.0.jsonl")
    ran = msgspec.structs.replace(record(CASES[0]), processes=(process,))
    failed = msgspec.structs.replace(ran, status=Status.CRASHED)
    parts = [part(tmp_path, 1, failed), part(tmp_path, 2, ran), part(tmp_path, 3, failed)]
    for each in parts:
        streams_of(each.path).mkdir()
        (streams_of(each.path) / "a.0.jsonl").write_text(each.path.stem)
    output = tmp_path / "whole.jsonl"
    copy_streams(parts, merge_parts(parts)[0], output)
    assert [path.read_text() for path in streams_of(output).iterdir()] == ["2"]
    streams_of(parts[1].path).rename(tmp_path / "gone")
    copy_streams(parts, merge_parts(parts)[0], tmp_path / "other.jsonl")
    assert not streams_of(tmp_path / "other.jsonl").exists()


def test_of_a_case_in_several_files_the_one_that_ran_counts(tmp_path):
    failed = record(CASES[0], status=Status.CRASHED)
    first, second, third = record(CASES[1], 1.0), record(CASES[1], 2.0), record(CASES[0], 3.0)
    merged, warnings = merge_parts(
        [part(tmp_path, 1, third, first), part(tmp_path, 2, failed, second)]
    )
    assert [one.summaries["forward"].median for one in merged.records] == [3.0, 2.0]
    assert warnings[0].startswith("2 cases in several files")


def test_a_part_that_is_missing_or_unfinished_is_said(tmp_path):
    merged, warnings = merge_parts(
        [
            part(tmp_path, 1, record(CASES[0]), cases=CASES[1:2], partition=[0, 4], closed=False),
            part(tmp_path, 2, record(CASES[2]), partition=[3, 4]),
        ]
    )
    assert merged.closing is None
    assert warnings == ["of 4 partitions without those of id 1, 2", "1 case not measured yet"]
    assert "partition" not in merged.header.options["selection"]


def test_a_session_is_no_part(tmp_path):
    one = part(tmp_path, 1, record(CASES[0]))
    header = msgspec.structs.replace(one.run.header, session={"arms": []})
    session = one._replace(run=msgspec.structs.replace(one.run, header=header))
    with pytest.raises(RunFileError, match="is a session of `opperf ab`"):
        merge_parts([one, session])


def test_the_command_writes_a_run_file_that_is_read_again(tmp_path):
    paths = []
    for number, case in enumerate(CASES, start=1):
        made = part(tmp_path, number, record(case), partition=[number - 1, 4])
        made.path.write_text(runfile_text(made.run))
        paths.append(str(made.path))
    # A job that was killed has a line that is cut off.
    with Path(paths[-1]).open("rb+") as file:
        file.truncate(len(file.read()) - 10)
    whole = tmp_path / "whole.jsonl"
    done = CliRunner().invoke(command, [*paths, "-o", str(whole)])
    assert done.exit_code == 0, done.output
    run, warnings = read_run(whole)
    assert [one.id for one in run.records] == [case.id for case in CASES]
    assert run.closing is None and warnings == []
    again = CliRunner().invoke(command, [*paths, "-o", str(whole)])
    assert again.exit_code != 0 and "exists" in str(again.exception)
    inside = CliRunner().invoke(command, [*paths, "-o", paths[0], "--overwrite"])
    assert "is also the output" in str(inside.exception)
