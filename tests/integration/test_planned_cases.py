"""What is measured changes only with the files that say what is measured."""

import pytest

from opperf.frameworks import load
from tests.integration.planned_cases import FILES, file_of, planned


@pytest.mark.parametrize("name", FILES)
def test_the_planned_cases_are_those_in_the_file(name):
    if not load(name).version().startswith(FILES[name]):
        pytest.skip(f"the file is of {name} {FILES[name]}*")
    known, found = file_of(name).read_text().splitlines(), "".join(planned(name)).splitlines()
    changed = sorted(set(known) ^ set(found))
    assert not changed, (
        "the rules plan other cases; if that is meant, run python -m "
        f"tests.integration.planned_cases and look at what it changes: {changed[:6]}"
    )
    assert known == found, "the cases come in another order"
