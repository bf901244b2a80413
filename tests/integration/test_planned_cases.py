"""What is measured changes only with the files that say what is measured."""

import pytest

from tests.integration.planned_cases import FILES, changes, file_of, is_of, planned


@pytest.mark.parametrize("name", FILES)
def test_the_planned_cases_are_those_in_the_file(name):
    if not is_of(name):
        pytest.skip(f"the file is of {name} {FILES[name]}*")
    known, found = file_of(name).read_text(encoding="utf-8"), "".join(planned(name))
    changed = changes(known, found)
    assert not changed, (
        f"the rules plan other cases of {', '.join(one.subject for one in changed)}; if that is "
        "meant, run python -m tests.integration.planned_cases and look at what it changes"
    )
    assert known == found, "the cases come in another order, or their inputs read otherwise"


def test_a_change_names_what_is_gone_and_new():
    before = "relu\tsmall\taa bb\nexp\tsmall\tcc\nlog\tsmall\tdd\tx: (2,)\n"
    after = "relu\tsmall\tbb ee\nlog\tsmall\tdd\tx: (3,)\nsin\tsmall\tff\n"
    assert list(map(str, changes(before, after))) == [
        "exp, small: 0 kept, -cc",
        "relu, small: 1 kept, -aa +ee",
        "sin, small: 0 kept, +ff",
    ]
    assert changes(before, before) == []
