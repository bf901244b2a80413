"""Nodes of a cluster, compared by their records: which differs, and what cannot be compared."""

import json

import click
import msgspec
import pytest

from opperf.commands.run_files import nodes as command
from opperf.comparison.nodes.comparing import compare_nodes
from opperf.errors import RunFileError
from opperf.instruments.profilers.summary import summarise
from opperf.model import SCHEMA_VERSION, Header, Run, Status
from opperf.reports.writing import runfile_text
from tests.recordings import HERE
from tests.results.conftest import record as record_of

OTHER = msgspec.structs.replace(HERE, cpu="Another CPU")


@pytest.fixture
def run_of():
    """Returns a run of nodes, each with the factor of its times; of the second kind, the last."""

    def made(factors, of_another_kind=(), failing=()):
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

    return made


def test_the_node_that_is_slower_differs_and_no_other(run_of):
    factors = dict.fromkeys("abcdefgh", 1.0) | {"c": 1.2}
    (kind,) = compare_nodes(run_of(factors), 0.02).kinds
    assert [node.name for node in kind.nodes if node.differs] == ["c"]
    slowest = kind.nodes[0]
    assert slowest.name == "c" and slowest.cases == 4
    assert slowest.low < 1.2 < slowest.high and slowest.ratio == pytest.approx(1.2, rel=0.01)


def test_nodes_of_another_kind_are_compared_with_each_other(run_of):
    factors = dict.fromkeys("abcd", 1.0) | dict.fromkeys("wxyz", 3.0)
    found = compare_nodes(run_of(factors, of_another_kind="wxyz"), 0.02)
    assert [len(kind.nodes) for kind in found.kinds] == [4, 4] and found.differing == ()
    two = compare_nodes(run_of(factors, of_another_kind="z"), 0.02)
    assert two.kinds[1].nodes == () and two.kinds[1].too_few == ("z",)


def test_what_a_node_did_not_measure_is_said(run_of):
    found = compare_nodes(run_of(dict.fromkeys("abcde", 1.0), failing="e"), 0.02)
    ((node, cases, reason),) = found.unmeasured
    assert (node, cases, reason) == ("e", 1, "failed: no kernel")
    assert {node.name: node.cases for node in found.kinds[0].nodes}["e"] == 3


def test_too_few_nodes_are_one_line(run_of):
    with pytest.raises(RunFileError, match="at least 4 nodes of one kind .* and the run has 3"):
        compare_nodes(run_of(dict.fromkeys("abc", 1.0)), 0.02)


def test_the_command_says_which_differs_and_its_exit_code(run_of, tmp_path, capsys):
    path = tmp_path / "nodes.jsonl"
    path.write_text(runfile_text(run_of(dict.fromkeys("abcdefgh", 1.0) | {"c": 1.2})))

    def called(*words):
        context = command.make_context("nodes", [str(path), *words])
        with pytest.raises(click.exceptions.Exit) as ended:
            command.invoke(context)
        return ended.value.exit_code

    assert called() == 0 and "c differs from the other nodes" in capsys.readouterr().out
    assert called("--strict", "-f", "json") == 1
    rows = json.loads(capsys.readouterr().out)["nodes"]
    assert [row["node"] for row in rows if row["differs"]] == ["c"]
