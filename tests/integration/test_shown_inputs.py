"""What is shown of a case's inputs distinguishes it from every other case of its operator."""

from __future__ import annotations

from collections import defaultdict

import pytest

from opperf.frameworks import load
from opperf.instruments.profilers import find_profilers
from opperf.model import Case, Settings, display_arguments
from opperf.reports.text import INPUTS_WIDTH
from opperf.results.details import display_details
from opperf.results.text import inputs_text, short_inputs
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection

FRAMEWORKS = ("mxnet", "numpy")


@pytest.fixture(scope="module", params=[(f, s) for f in FRAMEWORKS for s in ("small", "default")])
def planned(request: pytest.FixtureRequest) -> tuple[Case, ...]:
    """All cases of a registry at one size."""
    name, size = request.param
    framework = load(name)
    settings = Settings(profiler=next(iter(find_profilers(framework))))
    return plan(framework, Selection(size=size, settings=settings)).cases


def alike_in(planned, texts):
    """The texts that several cases have, with their operator and the phase, which reports show
    beside the inputs. `texts` are of the cases in turn."""
    by_text = defaultdict(set)
    for case, text in zip(planned, texts, strict=True):
        by_text[case.label, case.settings.phase, text].add(case.id)
    return [text for text, ids in by_text.items() if len(ids) > 1]


def test_no_two_cases_of_an_operator_have_the_same_text(planned):
    texts = [(case.label, inputs_text(case)) for case in planned]
    assert alike_in(planned, texts) == []
    for width in 20, INPUTS_WIDTH, 120:
        short = short_inputs(texts, width)
        assert alike_in(planned, [short[one] for one in texts]) == [], width


def test_no_two_cases_of_an_operator_have_the_same_inputs_and_details_in_json_and_csv(planned):
    texts = [f"{display_arguments(case)} {display_details(case)}" for case in planned]
    assert alike_in(planned, texts) == []
