"""Whether a run that is gone on with is the same run."""

from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from opperf.errors import RunFileError
from opperf.execution.execute import Environments
from opperf.machine.environment import environment
from opperf.model import Settings
from opperf.requests.keeping import check_axes, check_selection, read_unfinished
from opperf.sources.selecting import Selection

EARLIER = Selection(patterns=("relu",), size="small", settings=Settings(dtype="float64", runs=3))


def test_what_is_not_said_again_stays_as_it_was():
    assert check_selection(EARLIER, Selection(), {}) == EARLIER


@pytest.mark.parametrize(
    "changed, option, asked",
    [
        ("size", "--size", Selection(size="large")),
        ("names", "OPERATOR", Selection(patterns=("exp",))),
        ("shuffle", "--shuffle", Selection(shuffle=True)),
        ("memory", "--no-memory", Selection(settings=Settings(memory=False))),
        ("runs", "--runs", Selection(settings=Settings(runs=4))),
    ],
)
def test_another_value_is_refused_with_both(changed, option, asked):
    with pytest.raises(RunFileError, match=f"made with {option} .*, not "):
        check_selection(EARLIER, asked, {changed: True})


def test_the_same_value_is_not(fake):
    assert check_selection(EARLIER, EARLIER, dict.fromkeys(("size", "names", "runs"))) == EARLIER


def test_other_values_of_an_axis_are_refused_and_the_same_are_not():
    before = {"dtype": ("float32", "int8"), "device": ("cpu(0)",)}
    assert check_axes(before, before, {"dtype": True}) == before
    assert check_axes(before, {"dtype": ("int8",)}, {}) == before
    with pytest.raises(RunFileError, match="--dtype 'float32, int8', not 'int8'"):
        check_axes(before, {"dtype": ("int8",)}, {"dtype": True})


def test_another_environment_is_refused_with_what_differs(fake, make_case):
    case = make_case("relu")
    here = environment(fake)
    there = msgspec.structs.replace(here, cpu="another", versions={"fake": "2.0"})
    environments = Environments()
    assert environments.check(case, here) == here
    assert environments.check(case, msgspec.structs.replace(here, load_1min=99.0)) == here
    with pytest.raises(
        RunFileError, match=r"versions\.fake was '1\.0' and is '2\.0'; cpu was .* is 'another'"
    ):
        environments.check(case, there)


def test_cases_of_other_process_settings_have_an_environment_of_their_own(fake, make_case):
    here = environment(fake)
    there = msgspec.structs.replace(here, threads={"OMP_NUM_THREADS": "2"})
    environments = Environments()
    assert environments.check(make_case("relu"), here) == here
    assert environments.check(make_case("relu", threads=2), there) == there
    assert environments.check(make_case("add"), here) == here


@pytest.mark.parametrize(
    ("resume", "named"), [(None, "out.json"), (Path("named.jsonl"), "named.jsonl")]
)
def test_what_is_not_there_is_called_as_the_user_called_it(tmp_path, resume, named):
    given = SimpleNamespace(resume=resume, output=Path("out.json"))
    with pytest.raises(RunFileError, match=f"^{named}: there is no unfinished run to resume"):
        read_unfinished(tmp_path / "out.json-0123.jsonl", given)


def test_an_output_that_is_a_run_file_itself_is_resumed_by_its_name(tmp_path):
    output = tmp_path / "that.jsonl"
    output.write_text('{"line":"header"')
    given = SimpleNamespace(resume=None, output=output)
    with pytest.raises(RunFileError, match=f"that.jsonl is a run file: .*--resume {output}$"):
        read_unfinished(tmp_path / "that.jsonl-0123.jsonl", given)
