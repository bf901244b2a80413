"""Nodes of a cluster, compared by their records: which differs, and what cannot be compared."""

import json

import click
import msgspec
import pytest

from opperf.commands.run_files import nodes as command
from opperf.comparison.nodes import CHANGED, compare_nodes
from opperf.errors import RunFileError
from opperf.instruments.profilers.summary import summarise
from opperf.model import SCHEMA_VERSION, Header, Run, Status
from opperf.reports.writing import runfile_text
from tests.recordings import HERE
from tests.results.conftest import record as record_of

OTHER = msgspec.structs.replace(HERE, cpu="Another CPU")


def run_of(factors, of_another_kind=(), failing=()):
    """Returns a run of nodes, each with the factor of its times; of the second kind, the last."""
    records = []
    for number, (node, factor) in enumerate(factors.items()):
        environment = OTHER if node in of_another_kind else HERE
        for time, name in enumerate(("add", "exp", "mm", "sum"), start=1):
            # Each node has a scatter of its own, of a per mille.
            median = 1000.0 * time * factor * (1 + number / 1000)
            record = record_of(name)
            settings = msgspec.structs.replace(record.case.settings, node=node)
            case = msgspec.structs.replace(record.case, settings=settings)
            failed = node in failing and name == "mm"
            records.append(
                msgspec.structs.replace(
                    record,
                    case=case,
                    id=case.id,
                    node=node,
                    environment=environment.id,
                    status=Status.FAILED if failed else Status.OK,
                    reason="no kernel" if failed else "",
                    summaries={"forward": summarise([median] * 9, "ns")},
                )
            )
    cases = tuple(record.case for record in records)
    environments = {HERE.id: HERE, OTHER.id: OTHER}
    header = Header(schema=SCHEMA_VERSION, started="2026-01-02T03:04:05+00:00", options={})
    return Run(header, tuple(records), environments=environments, cases=cases)


def test_the_node_that_is_slower_differs_and_no_other():
    factors = dict.fromkeys("abcdefgh", 1.0) | {"c": 1.2}
    found = compare_nodes(run_of(factors), 0.02)
    assert [row.operator for row in found.rows if row.verdict.value in CHANGED] == ["c"]
    slowest = found.rows[0]
    assert slowest.operator == "c" and slowest.basis == "4 cases"
    assert slowest.low < 1.2 < slowest.high and slowest.ratio == pytest.approx(1.2, rel=0.01)


def test_nodes_of_another_kind_are_compared_with_each_other():
    factors = dict.fromkeys("abcd", 1.0) | dict.fromkeys("wxyz", 3.0)
    found = compare_nodes(run_of(factors, of_another_kind="wxyz"), 0.02)
    assert len({row.category for row in found.rows}) == 2 and len(found.rows) == 8
    assert {row.verdict.value for row in found.rows} == {"no clear change"}
    two = compare_nodes(run_of(factors, of_another_kind="z"), 0.02)
    assert "z" not in {row.operator for row in two.rows}
    (why,) = two.reasons["Not compared"].values()
    assert why.startswith("fewer than 4 nodes of Another CPU")


def test_what_a_node_did_not_measure_is_said():
    found = compare_nodes(run_of(dict.fromkeys("abcde", 1.0), failing="e"), 0.02)
    assert found.reasons["Not measured"] == {"e": "1 case; failed: no kernel"}
    assert {row.operator: row.basis for row in found.rows}["e"] == "3 cases"


def test_too_few_nodes_are_one_line():
    with pytest.raises(RunFileError, match="at least 4 nodes of one kind .* and the run has 3"):
        compare_nodes(run_of(dict.fromkeys("abc", 1.0)), 0.02)


def test_the_command_says_which_differs_and_its_exit_code(tmp_path, capsys):
    path = tmp_path / "nodes.jsonl"
    path.write_text(runfile_text(run_of(dict.fromkeys("abcdefgh", 1.0) | {"c": 1.2})))

    def called(*words):
        context = command.make_context("nodes", [str(path), *words])
        with pytest.raises(click.exceptions.Exit) as ended:
            command.invoke(context)
        return ended.value.exit_code

    assert called() == 0 and "c differs from the other nodes" in capsys.readouterr().out
    assert called("--strict", "-f", "json") == 1
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["operator"] for row in rows if row["verdict"] == "regressed"] == ["c"]
