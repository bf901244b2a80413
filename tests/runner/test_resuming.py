"""Whether a run that is gone on with is the same run."""

from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from opperf.errors import RunFileError
from opperf.model import Settings
from opperf.runner.environment import environment
from opperf.runner.options import QUICK, with_counts
from opperf.runner.resuming import check_same_environment, earlier_run, same_selection
from opperf.runner.selecting import Selection

EARLIER = Selection(patterns=("relu",), size="small", settings=Settings(dtype="float64", runs=3))


def test_what_is_not_said_again_stays_as_it_was():
    assert same_selection(EARLIER, Selection(), {}) == EARLIER


@pytest.mark.parametrize(
    "changed, asked",
    [
        ("size", Selection(size="large")),
        ("names", Selection(patterns=("exp",))),
        ("shuffle", Selection(shuffle=True)),
        ("dtype", Selection(settings=Settings(dtype="float32"))),
        ("no_memory", Selection(settings=Settings(memory=False))),
        ("ctx", Selection(settings=Settings(device="cpu(1)"))),
    ],
)
def test_another_value_is_refused_with_both(changed, asked):
    with pytest.raises(RunFileError, match=f"made with {changed} = .*, not "):
        same_selection(EARLIER, asked, {changed: True})


def test_the_same_value_is_not(fake):
    assert same_selection(EARLIER, EARLIER, dict.fromkeys(("size", "names", "dtype"))) == EARLIER


def test_another_environment_is_refused_with_what_differs(fake):
    here = environment(fake)
    there = msgspec.structs.replace(here, cpu="another", versions={"fake": "2.0"})
    check_same_environment(here, msgspec.structs.replace(here, load_1min=99.0))
    with pytest.raises(
        RunFileError, match=r"versions\.fake was '1\.0' and is '2\.0'; cpu was .* is 'another'"
    ):
        check_same_environment(here, there)


NO_COUNTS = {
    "quick": False,
    "warmup": 10,
    "runs": 50,
    "max_time_s": None,
    "configurations": None,
}


def test_quick_counts_give_way_to_those_that_are_given():
    quick = NO_COUNTS | {"quick": True}
    assert with_counts(quick, {"quick": True}) == quick | QUICK
    given = with_counts(quick | {"runs": 7}, {"quick": True, "runs": 7})
    assert given == quick | QUICK | {"runs": 7}


@pytest.mark.parametrize(
    ("resume", "named"), [(None, "out.json"), (Path("named.jsonl"), "named.jsonl")]
)
def test_what_is_not_there_is_called_as_the_user_called_it(tmp_path, resume, named):
    given = SimpleNamespace(resume=resume, output=Path("out.json"))
    with pytest.raises(RunFileError, match=f"^{named}: there is no unfinished run to resume"):
        earlier_run(tmp_path / "out.json-0123.jsonl", given)
