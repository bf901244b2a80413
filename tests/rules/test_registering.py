"""Errors in contributed rules name the file and the line."""

import pytest

from opperf.errors import RuleError, UnsupportedError
from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families, NoInputs, each_of, is_users, place_of
from opperf.rules.sizes import PRESETS
from opperf.rules.torch import recorded
from opperf.rules.values import tensor

HERE = __file__


def no_such_name(operator, size):
    yield {"data": tensor(2)}
    yield {"data": tensor(missing)}  # noqa: F821


LINE = no_such_name.__code__.co_firstlineno


def no_dict(operator, size):
    return [tensor(2)]


def made_by(family):
    return each_of(family, lambda: family(None, PRESETS["small"]), "operator relu")


def test_code_that_fails():
    with pytest.raises(RuleError) as caught:
        made_by(no_such_name)
    assert str(caught.value) == (
        f"{HERE}:{LINE + 2}: NameError: name 'missing' is not defined, in a rule for the operator "
        "relu"
    )


def test_what_is_no_configuration():
    with pytest.raises(RuleError, match="makes TensorSpec.*, not a dict of arguments") as caught:
        made_by(no_dict)
    assert str(caught.value).startswith(f"{HERE}:{no_dict.__code__.co_firstlineno}: the rule for")


def test_a_row_has_one_line_of_why():
    def twice(operator, size):
        return {"a vector": {"data": tensor(2), WHY: "another"}}

    with pytest.raises(RuleError) as caught:
        made_by(twice)
    assert str(caught.value) == (
        f"{place_of(twice)}: ValueError: a row has two lines of why, 'a vector' and 'another', in "
        "a rule for the operator relu"
    )


def test_what_a_rule_refuses_is_its_own_error():
    def refuses(operator, size):
        raise UnsupportedError("not here")

    with pytest.raises(UnsupportedError, match="not here"):
        made_by(refuses)
    assert made_by(lambda operator, size: NoInputs("none")) == NoInputs("none")


def test_a_second_family_names_both_places():
    families = Families()
    families.add("relu")(no_dict)
    with pytest.raises(RuleError) as caught:
        families.add("relu")(no_such_name)
    assert str(caught.value) == (
        f"{place_of(no_such_name)}: two families for the operator 'relu', the first in "
        f"{place_of(no_dict)}; `also` adds to its configurations"
    )
    assert families.count == 1


def test_a_users_family_comes_before_that_of_opperf():
    families, operator = Families(), Operator("torch", "aten", "sqrt", aliases=("sqrt.default",))
    families.add("sqrt")(recorded.family)
    assert families.family_of(operator) is recorded.family and not is_users(recorded.family)
    families.add("sqrt.default")(no_dict)
    assert families.family_of(operator) is no_dict
    families.add("sqrt")(no_such_name)
    assert families.family_of(operator) is no_such_name
    with pytest.raises(RuleError, match="two families for the operator 'sqrt'"):
        families.add("sqrt")(no_dict)
