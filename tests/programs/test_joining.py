"""The record of a program on several nodes."""

import pytest

from opperf.instruments.profilers.summary import summarise
from opperf.model import Case, Note, NoteCode, ProcessResult, Record, ScriptTarget, Status
from opperf.programs.measuring import has_failed, join_parts

CASE = Case(ScriptTarget("wide", "wide.py", nodes=2), {}, passes=())


def part(status=Status.OK, processes=(Status.OK,), notes=(), node="", **samples):
    return Record(
        case=CASE,
        id=CASE.id,
        status=status,
        reason="" if status is Status.OK else "it says why",
        samples=samples,
        summaries={name: summarise(values, "u") for name, values in samples.items()},
        processes=tuple(ProcessResult(name="0", status=each) for each in processes),
        notes=notes,
        node=node,
        wall_s=len(samples),
    )


def test_metrics_of_all_parts_are_joined_by_their_kind():
    first = part(
        rate=[10.0, 20.0, 30.0],
        first_step=[5.0],
        program_memory=[7.0],
        cpu_load=[50.0, 60.0],
        gpu_temperature=[40.0],
        gpu_clock=[1500.0],
        loss=[0.5, 0.4],
        energy_per_item=[2.0],
    )
    second = part(
        rate=[1.0, 2.0],
        first_step=[9.0],
        program_memory=[3.0],
        cpu_load=[100.0],
        gpu_temperature=[45.0],
        gpu_clock=[1400.0],
        loss=[0.7],
        energy_per_item=[10.0],
    )
    record = join_parts(CASE, [first, second], None)
    assert record.status is Status.OK and len(record.processes) == 2 and record.wall_s == 8
    energy = record.samples.pop("energy_per_item")
    assert record.samples == {
        "rate": [11.0, 22.0],
        "first_step": [9.0],
        "program_memory": [10.0],
        "cpu_load": [75.0],
        "gpu_temperature": [45.0],
        "gpu_clock": [1400.0],
        "loss": [0.5, 0.4],
    }
    # 2 J at 20 a second and 10 J at 1.5 are 55 W for 21.5 a second.
    assert energy == pytest.approx([55 / 21.5])
    assert record.summaries["rate"].unit == "u"


def test_a_part_without_observations_fails_only_if_its_processes_do():
    silent = part(Status.FAILED, notes=(Note("", NoteCode.INCOMPLETE, "lacks"),))
    assert not has_failed(silent) and not has_failed(part())
    assert has_failed(part(Status.FAILED, (Status.OK, Status.CRASHED)))
    assert has_failed(part(Status.SKIPPED, ()))
    joined = join_parts(CASE, [silent, part(rate=[3.0])], None)
    assert joined.status is Status.OK and joined.samples["rate"] == [3.0]
    assert joined.notes[0].message == "node 0: lacks"
    nothing = join_parts(CASE, [silent, silent], None)
    assert nothing.status is Status.FAILED and nothing.reason == "it says why"


def test_a_node_without_samples_of_a_metric_is_named_in_a_note():
    observing = part(rate=[3.0], program_memory=[7.0], cpu_load=[50.0])
    silent = part(Status.FAILED, program_memory=[5.0], node="b")
    nothing = part(rate=[1.0], node="c")
    record = join_parts(CASE, [observing, silent, nothing], None)
    assert record.samples["program_memory"] == [12.0] and record.samples["rate"] == [4.0]
    assert [note.message for note in record.notes] == [
        "cpu_load without nodes b, c, which sent no samples of it",
        "program_memory without node c, which sent no samples of it",
    ]
    assert {note.code for note in record.notes} == {NoteCode.INCOMPLETE}
    assert not join_parts(CASE, [observing, observing], None).notes


def test_energy_per_item_has_the_power_of_nodes_that_observe_nothing():
    observing = part(rate=[10.0], energy_per_item=[2.0], gpu_power=[20.0])
    silent = part(Status.FAILED, gpu_power=[10.0, 30.0])
    record = join_parts(CASE, [observing, silent], None)
    assert record.samples["energy_per_item"] == [pytest.approx(4.0)]
