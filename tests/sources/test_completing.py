"""Cases of sources that know no framework, as a framework calls them."""

import msgspec
import pytest

from opperf.frameworks import load
from opperf.model import CallableTarget, Case, ObjectTarget, OperatorTarget, TensorSpec
from opperf.sources.completing import LAYER, complete, distinguish, merge

TENSOR = TensorSpec((4,), gradient=True)


def completed(target, arguments, framework="numpy"):
    (made,) = complete(load(framework), [Case(target, arguments)])
    return made


def test_a_function_is_its_operator_and_its_arguments_have_names():
    made = completed(CallableTarget("numpy", "numpy.clip"), {"0": TENSOR, "1": 0.0, "a_max": 1.0})
    assert made.refusal == "" and made.case.target == OperatorTarget("numpy", "clip")
    assert list(made.case.arguments) == ["a", "a_min", "a_max"]
    assert made.case.passes == ("forward",) and made.case.category


@pytest.mark.parametrize(
    ("target", "arguments", "refusal"),
    [
        (OperatorTarget("numpy", "ad"), {}, "is not a name in NumPy"),
        (CallableTarget("numpy", "numpy.ad"), {}, "did you mean add"),
        (OperatorTarget("numpy", "clip"), {"nothing": 1}, "has no argument 'nothing'"),
        (OperatorTarget("numpy", "clip"), {"0": TENSOR, "a": TENSOR}, "two values of the argument"),
        (ObjectTarget("numpy", "numpy.add", {"0": 1}), {}, "is a function, which is not built"),
        (ObjectTarget("numpy", "fractions.Fractoin"), {}, "did you mean Fraction"),
    ],
)
def test_what_cannot_be_called_says_why(target, arguments, refusal):
    made = completed(target, arguments)
    assert refusal in made.refusal
    assert (made.case.target, made.case.arguments) == (target, arguments)


def test_an_object_of_any_package_is_built():
    made = completed(ObjectTarget("numpy", "fractions.Fraction", {"0": 3}), {"0": TENSOR})
    assert made.refusal == "" and made.case.category == LAYER
    assert made.case.settings.phase == "train"


def test_a_package_that_is_missing_is_left_to_the_record():
    target = ObjectTarget("numpy", "package_that_is_missing.Layer")
    made = completed(target, {})
    assert made.refusal == "" and made.case == Case(target, {})


def test_equal_cases_are_one_or_have_a_number():
    one = Case(OperatorTarget("numpy", "exp"), {"x": TENSOR})
    other = Case(OperatorTarget("numpy", "log"), {"x": TENSOR})
    merged = merge([one, other, msgspec.structs.replace(one, count=3)])
    assert [case.count for case in merged] == [4, 1]
    numbered = distinguish([one, other, one, one])
    assert [case.repeat for case in numbered] == [0, 0, 1, 2]
    assert len({case.id for case in numbered}) == 4
    assert distinguish(numbered) == numbered
    assert (numbered[0].id, numbered[1].id) == (one.id, other.id)
