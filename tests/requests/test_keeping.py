"""Whether a run that is gone on with is the same run."""

import re
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from opperf.errors import RunFileError
from opperf.execution.execute import Environments
from opperf.machine.environment import environment
from opperf.requests.declaring import build, fixed_values
from opperf.requests.keeping import check_resumed, read_unfinished
from opperf.requests.run import RunRequest
from opperf.sources.selecting import Selection

BEGUN = {"names": ("relu",), "size": "small", "runs": 3, "dtype": ("float32", "int8")}
AXES = {"dtype": ("float32", "int8"), "device": ("cpu(0)",)}


def resumed(**values):
    """Checks a run of BEGUN that is resumed with these values."""
    begun, asked = build(RunRequest, BEGUN), build(RunRequest, values)
    kept = {name: own for name, (own, usual) in fixed_values(begun).items() if own != usual}
    assert kept == {"names": ["relu"], "size": "small", "runs": 3}
    options = {"selection": Selection(rounds=2), "axes": AXES, "request": kept}
    case = SimpleNamespace(target=SimpleNamespace(framework="fake"))
    run = SimpleNamespace(header=SimpleNamespace(options=options, wrapping=None), cases=[case])
    worker = SimpleNamespace(resolve=lambda axes: SimpleNamespace(axes={**axes, **CANONICAL}))
    request = SimpleNamespace(
        asked=asked,
        explicit=asked.given,
        source=None,
        axes=asked.axes,
        framework=SimpleNamespace(is_named=False),
        wrapping=None,
    )
    return check_resumed(run, SimpleNamespace(of=lambda *_: worker), request)


CANONICAL = {"device": ("cpu(0)",)}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"size": "large"}, "--size 'small', not 'large'"),
        ({"names": ("exp",)}, "OPERATOR ('relu',), not ('exp',)"),
        ({"shuffle": True}, "--shuffle False, not True"),
        ({"memory": False}, "--no-memory True, not False"),
        ({"runs": 4}, "--runs 3, not 4"),
        ({"dtype": ("int8",)}, "--dtype 'float32, int8', not 'int8'"),
    ],
)
def test_another_value_is_refused_with_both(asked, said):
    with pytest.raises(RunFileError, match=re.escape(f"made with {said};")):
        resumed(**asked)


@pytest.mark.parametrize(
    "asked", [{}, BEGUN, {"cpus": "none", "columns": ("p50",)}, {"device": ("cpu",)}]
)
def test_the_same_values_and_those_of_no_case_are_not(asked):
    assert resumed(**asked).rounds == 2


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
        read_unfinished(tmp_path / "out.json-0123.jsonl", given, print)


def test_an_output_that_is_a_run_file_itself_is_resumed_by_its_name(tmp_path):
    output = tmp_path / "that.jsonl"
    output.write_text('{"line":"header"')
    given = SimpleNamespace(resume=None, output=output)
    with pytest.raises(RunFileError, match=f"that.jsonl is a run file: .*--resume {output}$"):
        read_unfinished(tmp_path / "that.jsonl-0123.jsonl", given, print)
