"""Every planned case has a short line of why."""

from collections import defaultdict

import pytest

from opperf.frameworks import is_available
from tests.conformance.driver import planned

LONGEST = 120
"""Characters of a line of why, at most: it is one line of `opperf show` on a wide terminal."""


@pytest.fixture(scope="module", params=["mxnet", "numpy"])
def whys(request):
    """The lines of each operator's cases at the default size, by the operator's label."""
    if not is_available(request.param):
        pytest.skip(f"{request.param} is not installed")
    made = defaultdict(list)
    for case in planned(request.param, "default"):
        made[case.label].append(case.why)
    assert made
    return made


def listing(wrong):
    """The operators and their lines, as text that a failure shows whole."""
    return "\n".join(f"{label}: {line}" for label, line in sorted(wrong))


def test_every_line_is_short(whys):
    wrong = {
        (label, line)
        for label, lines in whys.items()
        for line in lines
        if not 0 < len(line) <= LONGEST
    }
    assert not wrong, listing(wrong)
