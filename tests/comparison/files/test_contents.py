"""Times that depend on the inputs' values, in runs with different seeds."""

import msgspec
import pytest

from opperf.comparison.files.contents import contents_caveat
from opperf.comparison.files.reading import entry_of


@pytest.fixture
def seeded(record):
    """Makes a record of a category, with inputs drawn from a seed."""

    def make(category, seed):
        one = record()
        settings = msgspec.structs.replace(one.case.settings, seed=seed)
        case = msgspec.structs.replace(one.case, category=category, settings=settings)
        return msgspec.structs.replace(one, case=case)

    return make


def test_a_time_that_depends_on_values_has_a_caveat_and_a_remark(run, seeded, asked):
    found = asked(run(seeded("sorting", 1)), run(seeded("sorting", 2)))
    caveats = {row.metric: "seeds 1 and 2" in row.caveat for row in found.rows}
    assert caveats["forward"] and not caveats["memory"]
    assert found.notes[-1] == (
        "The runs have different seeds, and the times of 1 operator depend on the inputs' values, "
        "e.g. relu."
    )


@pytest.mark.parametrize(("category", "seed"), [("unary", 2), ("sorting", 1)])
def test_other_times_and_the_same_seed_have_none(run, seeded, asked, category, seed):
    found = asked(run(seeded(category, 1)), run(seeded(category, seed)))
    assert not any("seeds" in text for text in (*found.notes, *(row.caveat for row in found.rows)))


def test_a_file_without_seeds_has_none(record):
    entry = msgspec.structs.replace(entry_of(record()), category="sorting", effort={})
    assert contents_caveat(entry, entry) == ""
