"""The code in CONTRIBUTING.md is complete: each block is imported, and its rules are called."""

import re
import sys
import textwrap
from pathlib import Path

import pytest

from opperf.instruments.instrument import Instrument
from opperf.model import Case, OperatorTarget
from opperf.reports.formats import RUN, Format
from opperf.rules.registering import Families
from opperf.rules.sizes import PRESETS
from opperf.rules.torch import FAMILIES as TORCH

PAGE = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"
BLOCKS = [
    (PAGE.read_text(encoding="utf-8")[: match.start()].count("\n") + 1, textwrap.dedent(match[1]))
    for match in re.finditer(
        r"^ *```python\n(.*?)^ *```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
]


@pytest.fixture
def torch_as_before():
    """Removes what the block for a user's own operator registers."""
    before = dict(TORCH.by_name)
    yield
    TORCH.by_name.clear()
    TORCH.by_name.update(before)


@pytest.fixture
def run_block(torch_as_before):
    def run(block):
        names = {"__name__": "contributed"}
        exec(compile(block, str(PAGE), "exec"), names)
        return names

    return run


def test_there_are_blocks_for_each_framework():
    rules = "".join(block for _, block in BLOCKS if "Families" in block)
    for word in ("_contrib_quadratic", "index_select", "JAX.add", "NUMPY.add", "operation("):
        assert word in rules


@pytest.mark.parametrize("line, block", BLOCKS, ids=[f"line {line}" for line, _ in BLOCKS])
def test_a_block_is_complete(line, block, run_block):
    names = run_block(block)
    made = [one for one in names.values() if isinstance(one, Families) and one is not TORCH]
    for families in made:
        assert families.count
        for family in (*families.by_name.values(), *families.by_operation.values()):
            for size in PRESETS.values():
                assert all(isinstance(one, dict) for one in family(None, size))


def test_the_source_makes_cases(tmp_path, run_block):
    (block,) = [block for _, block in BLOCKS if "ShapeFiles" in block]
    source = run_block(block)["source"]()
    path = tmp_path / "shapes.txt"
    path.write_text("operator shapes\nexp 4 5\n")
    assert source.recognizes(path)
    (case,) = source.open(path).cases()
    assert isinstance(case, Case) and case.target == OperatorTarget("numpy", "exp")
    assert case.arguments["x"].shape == (4, 5) and case.origin == f"{path}:2"
    assert not source.recognizes(Path(__file__))


def test_the_instrument_is_one(run_block):
    (block,) = [block for _, block in BLOCKS if "BANDWIDTH = " in block]
    instrument = run_block(block)["BANDWIDTH"]
    assert isinstance(instrument, Instrument) and instrument.metrics[0].name == "bandwidth"
    assert "contributed" not in sys.modules


def test_the_format_is_one(run_block):
    (block,) = [block for _, block in BLOCKS if "TSV = " in block]
    format = run_block(block)["TSV"]
    assert isinstance(format, Format) and format.writes(RUN) and format.writes("compare")
