"""Cases from files, and pairs by their ids."""

import json

import msgspec
import pytest

from opperf.comparison.ab.choosing import choose_by_id, plans_of_files, usual_id
from opperf.comparison.ab.pairs import Pair, Pairing
from opperf.errors import UsageError
from opperf.model import Header, Run, Settings
from opperf.model.runs import SCHEMA_VERSION
from opperf.reports.runs import write
from opperf.sources.base import open_files
from opperf.sources.completing import Completed
from opperf.sources.runfile import RunFile
from opperf.sources.selecting import Selection

PASSES = ("forward", "backward")


@pytest.fixture
def file(make_case, tmp_path):
    """A run file of two planned cases of the fake framework, with settings of their own."""
    own = {"dtype": "float64", "threads": 2, "seed": 7}
    cases = tuple(make_case(name, passes=PASSES, **own) for name in ("relu", "negative"))
    header = Header(schema=SCHEMA_VERSION, started="2025-01-02T03:04:05+00:00", options={})
    path = tmp_path / "base.jsonl"
    write(Run(header, (), None, {}, cases), path, "jsonl")
    return path


def selection(ids=(), **settings):
    common = {"device": "cpu(0)", "threads": 1, "precision": 0.005, "dtype": "float32", **settings}
    return Selection(ids=ids, settings=Settings(**common))


def planned(
    path, ids=(), forward_only=False, assigned=(), framework="fake", worker=None, **settings
):
    chosen = selection(ids, **settings)
    (plan,) = plans_of_files(worker, open_files([path]), framework, chosen, forward_only, assigned)
    return plan.cases


def test_the_calls_are_those_of_the_file_and_the_process_is_the_arms(file):
    for ours, theirs in zip(planned(file), RunFile(file).cases(), strict=True):
        assert (ours.target, ours.arguments, ours.passes) == (
            theirs.target,
            theirs.arguments,
            theirs.passes,
        )
        settings = ours.settings
        assert (settings.dtype, settings.seed) == ("float64", 7)
        assert (settings.threads, settings.precision, settings.runs) == (1, 0.005, None)


def test_an_arm_can_assign_what_the_file_has(file):
    for case in planned(file, assigned=("dtype",), dtype="float16"):
        assert case.settings.dtype == "float16"
        assert {spec.dtype for spec in case.arguments.values()} == {"float16"}


def test_ids_are_those_in_the_file(file):
    wanted = next(RunFile(file).cases())
    assert [case.label for case in planned(file, ids=(wanted.id[:6],))] == [wanted.label]
    with pytest.raises(UsageError, match=r"--id ffff: no case of .*base\.jsonl has this id"):
        planned(file, ids=(wanted.id, "ffff"))


def test_the_backward_pass_can_be_excluded(file):
    assert {case.passes for case in planned(file, forward_only=True)} == {("forward",)}


def test_another_framework_has_to_be_named(file):
    with pytest.raises(UsageError, match="has cases of fake, .* add --framework fake"):
        planned(file, framework="numpy")


LOG = """Operator: aten.mm.default
cnt: 3, ((T([4, 4], f16), T([4, 4], f16)), {})
cnt: 2, ((T([4, 4], f32), T([4, 4], f32)), {})
"""


class Completing:
    """A worker that gives the arguments of a call their names, and the call a category."""

    def complete(self, cases, batch_factor=1.0):
        return [
            Completed(
                msgspec.structs.replace(
                    case,
                    arguments=dict(zip("ab", case.arguments.values(), strict=False)),
                    category="unary",
                )
            )
            for case in cases
        ]


def test_calls_of_a_recording_are_completed_and_counted(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text(LOG)
    recorded = {"framework": "torch", "worker": Completing()}
    cases = planned(path, **recorded)
    assert [(case.count, list(case.arguments)) for case in cases] == [
        (3, ["a", "b"]),
        (2, ["a", "b"]),
    ]
    (one,) = planned(path, assigned=("dtype",), dtype="float32", **recorded)
    assert one.count == 5
    with pytest.raises(UsageError, match="has cases of torch, .* add --framework torch"):
        planned(path, worker=Completing())


def test_a_case_that_an_arm_makes_equal_to_another_counts_once(file, make_case, tmp_path):
    header = Header(schema=SCHEMA_VERSION, started="2025-01-02T03:04:05+00:00", options={})
    cases = tuple(msgspec.structs.replace(make_case("relu", threads=n), count=4) for n in (1, 2))
    write(Run(header, (), None, {}, cases), tmp_path / "two.jsonl", "jsonl")
    (one,) = planned(tmp_path / "two.jsonl")
    assert one.count == 4


@pytest.fixture
def pairing(make_case):
    def pair(name):
        a = make_case(name, threads=1)
        return Pair(a, msgspec.structs.replace(a, settings=Settings(threads=1, dtype="float16")))

    return Pairing((pair("relu"), pair("negative")), {"exp in A": "no partner"})


@pytest.mark.parametrize(
    "read", [lambda pair: pair.a.id, lambda pair: pair.b.id[:8], lambda pair: usual_id(pair.a)]
)
def test_a_pair_has_the_ids_of_both_cases_and_of_the_usual_process(pairing, read):
    first, _ = pairing.pairs
    found = choose_by_id(pairing, (read(first),))
    assert found == Pairing((first,), {})


def test_all_pairs_without_an_id_and_an_error_for_an_unknown_one(pairing):
    assert choose_by_id(pairing, ()) is pairing
    with pytest.raises(UsageError, match="--id ffff: no pair of cases has this id"):
        choose_by_id(pairing, ("ffff",))


def test_cases_of_a_configuration_are_completed_and_have_the_settings_of_the_arm(tmp_path):
    tensor = {"type": "tensor", "dtype": "double", "shape": [4]}
    path = tmp_path / "exp.json"
    content = {"torch.exp": {"config": [{"input": [{"args": [tensor]}]}]}}
    path.write_text(json.dumps(content))
    recorded = {"framework": "torch", "worker": Completing()}
    (case,) = planned(path, **recorded, device="gpu(0)", profiler="python")
    assert case.category == "unary"
    settings = case.settings
    assert (settings.device, settings.profiler, settings.dtype) == ("gpu(0)", "python", "float64")
    with pytest.raises(UsageError, match="has cases of torch, and fake is measured"):
        planned(path)
