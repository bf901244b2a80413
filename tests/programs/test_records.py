"""Records of programs, from what their processes have observed."""

from opperf.model import Case, NoteCode, ScriptTarget, Settings
from opperf.programs.launching import ProcessPlan
from opperf.programs.measuring import make_record
from opperf.programs.process import ProgramProcess


def test_a_note_on_two_levels_has_the_unit_that_the_program_says():
    settings = Settings(warmup=0)
    case = Case(ScriptTarget("bench", "main.py", stop=40), {}, settings, passes=())
    process = ProgramProcess(ProcessPlan("0", 0, {}), case.target, settings, [], None)
    for number in range(40):
        rate = 100 * (1 + number % 2) + number % 3 / 10
        process.take("data", b'{"rate": %f, "units": "steps/s"}' % rate, 0.0)
    record = make_record(case, [process], None, None)
    assert record.summaries["rate"].unit == "steps/s"
    (note,) = [note for note in record.notes if note.code is NoteCode.TWO_LEVELS]
    assert "100.1 steps/s" in note.message and "200.1 steps/s" in note.message
