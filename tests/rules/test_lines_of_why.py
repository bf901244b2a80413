"""What is measured, excused and compared with models does not depend on the lines of why, which are
for readers, but for the models that they name."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from opperf.frameworks import is_available, load
from opperf.instruments.profilers import find_profilers
from opperf.model import Settings
from opperf.rules import engine
from opperf.rules.configurations import read_configuration
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection
from tests.conformance.exceptions import any_case
from tests.conformance.frameworks import legitimate
from tools.named_models.checking import explained, model_in, named_rows

NAMED = ["BERT-base", "FCN", "GPT-2", "ResNet-50", "ResNet-50 v2", "Whisper"]


@pytest.mark.parametrize(
    "name",
    ["mxnet", "numpy", *(pytest.param(one, marks=pytest.mark.sweep) for one in ("jax", "torch"))],
)
def test_other_lines_are_the_same_cases(name, monkeypatch):
    if not is_available(name):
        pytest.skip(f"{name} is not installed")
    framework = load(name)
    settings = Settings(profiler=next(iter(find_profilers(framework))))
    selection = Selection(size="small", settings=settings)

    def found():
        cases = plan(framework, selection).cases
        rows = [(row.operator, row.model, explained(row)) for row in named_rows(name, NAMED)]
        return [(case.label, case.id) for case in cases], rows

    before = found()
    numbers = itertools.count()

    def rewritten(*given):
        row = read_configuration(*given)
        return row._replace(why=f"{model_in(row.why, NAMED)} line {next(numbers)}")

    monkeypatch.setattr(engine, "read_configuration", rewritten)
    assert found() == before
    assert next(numbers) > 0
    excused = legitimate(name).table
    for case in plan(framework, selection).cases:
        silent = msgspec.structs.replace(case, why="")
        for exempt in excused:
            assert exempt.given is any_case or exempt.given(case) == exempt.given(silent)
