"""Which dumps are compared."""

import pytest

from opperf.comparison.explaining.choosing import choose
from opperf.errors import CallgrindError, OpperfError, UsageError
from opperf.model import Status

DUMPS = {"forward": "fn=f\n1 5", "backward": "fn=f\n1 6"}


@pytest.fixture
def runs(run_file, make_record):
    """Two run files of three cases, with both passes of each."""
    records = [make_record("add"), make_record("add", length=8), make_record("exp")]
    return run_file("base.jsonl", records, DUMPS), run_file("new.jsonl", records, DUMPS), records


def test_a_case_is_named_by_its_id_a_prefix_or_its_operator(runs):
    base, new, records = runs
    case = records[2].case
    for wanted in (case.id, case.id[:6], "exp", "EXP"):
        chosen = choose(base, new, wanted, "forward")
        assert chosen.base == base.with_suffix(".callgrind") / f"{case.id}.forward.callgrind"
        assert chosen.new == new.with_suffix(".callgrind") / f"{case.id}.forward.callgrind"
        assert chosen.title == "exp (x: (4,)), forward"
    assert choose(base, new, "exp", "backward").new.name == f"{case.id}.backward.callgrind"


def test_two_dumps_are_compared_as_they_are(runs):
    base, new, records = runs
    paths = [
        path.with_suffix(".callgrind") / f"{records[0].id}.{name}.callgrind"
        for path, name in ((base, "forward"), (new, "backward"))
    ]
    assert choose(*paths, None, "forward") == (*paths, "", (), ())
    with pytest.raises(UsageError, match="exp: files of callgrind's have no cases"):
        choose(*paths, "exp", "forward")
    with pytest.raises(UsageError, match="the other one is not; name two of a kind"):
        choose(paths[0], new, "exp", "forward")


def test_an_operator_with_several_cases_is_not_enough(runs):
    base, new, records = runs
    with pytest.raises(UsageError, match="add is of 2 cases of .*base.jsonl; name one") as error:
        choose(base, new, "add", "forward")
    assert f"{records[1].id} (add x: (8,))" in str(error.value)


def test_without_a_case_those_of_the_files_are_listed(runs):
    base, new, records = runs
    with pytest.raises(UsageError, match="name a case, by id or operator") as error:
        choose(base, new, None, "forward")
    assert all(record.id in str(error.value) for record in records)


@pytest.mark.parametrize(("wanted", "advice"), [("epx", "did you mean exp?"), ("zz", "there are ")])
def test_an_unknown_case_suggests_near_ones(runs, wanted, advice):
    base, new, _ = runs
    with pytest.raises(UsageError, match=f"^{wanted}: no case of .*has this id or oper") as error:
        choose(base, new, wanted, "forward")
    assert advice in str(error.value)


def test_a_case_of_another_process_is_joined_by_its_arguments(run_file, make_record):
    base = run_file("base.jsonl", [make_record("add"), make_record("exp")], DUMPS)
    new_record = make_record("add", python="new")
    new = run_file("new.jsonl", [new_record], DUMPS)
    chosen = choose(base, new, new_record.id, "forward")
    assert chosen.base.name == f"{make_record('add').id}.forward.callgrind"
    with pytest.raises(UsageError, match="new.jsonl has no case exp, which .*base.jsonl has"):
        choose(base, new, "exp", "forward")


def test_different_inputs_are_not_compared(run_file, make_record):
    base = run_file("base.jsonl", [make_record("add")], DUMPS)
    new = run_file("new.jsonl", [make_record("add", length=8)], DUMPS)
    with pytest.raises(UsageError, match=r"add is .*\(add x: \(4,\)\) in .* name one of them"):
        choose(base, new, "add", "forward")


def test_a_case_without_a_dump(run_file, make_record):
    records = [make_record("add"), make_record("exp", status=Status.SKIPPED, reason="no int8")]
    base, new = run_file("base.jsonl", records), run_file("new.jsonl", records)
    with pytest.raises(CallgrindError, match="no profile of add was kept") as error:
        choose(base, new, "add", "forward")
    assert f"base.callgrind/{records[0].id}.forward.callgrind" in str(error.value)
    assert str(error.value).endswith("opperf run --profiler instructions -o base.jsonl")
    with pytest.raises(CallgrindError, match="exp has no profile; it was skipped: no int8"):
        choose(base, new, "exp", "forward")


def test_a_case_with_a_dump_of_the_other_pass(run_file, make_record):
    base = run_file("base.jsonl", [make_record("add")], {"forward": DUMPS["forward"]})
    with pytest.raises(CallgrindError, match="of its backward pass, only of forward; there is no"):
        choose(base, base, "add", "backward")


def test_a_file_that_is_neither(tmp_path, runs):
    path = tmp_path / "text"
    path.write_text("nonsense\n")
    with pytest.raises(OpperfError, match="text"):
        choose(path, runs[1], "exp", "forward")
    with pytest.raises(OpperfError, match="absent"):
        choose(tmp_path / "absent", runs[1], "exp", "forward")
