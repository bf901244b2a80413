"""The results of one untimed call, with NumPy."""

import numpy as np
import pytest

from opperf.frameworks import load
from opperf.model import Case, FileTarget, Fill, OperatorTarget, Settings, TensorSpec
from opperf.worker import call_outputs
from opperf.worker.call_outputs import observe

FUNCTIONS = """
import numpy as np
def nested(x): return {"y": x + 1, "z": [None, 3, 0.5, "a", (), np.float64(2)], 1: object()}
def writes(x, y): x += 1; np.exp(y, out=y); return y
def draws(x): return np.random.random(3)
def fails(x): raise ValueError("bad\\nluck")
"""


@pytest.fixture
def seen(tmp_path):
    """What a call resulted in: the values by place, and their elements."""
    file = tmp_path / "mine.py"
    file.write_text(FUNCTIONS)

    def seen(name, draw=0, target=None, **arguments):
        target = target or FileTarget("numpy", str(file), name)
        arguments = arguments or {"x": TensorSpec((2, 3), fill=Fill("constant", 2.0))}
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        case = Case(target, arguments, Settings(profiler="python"))
        observed = observe(case, load("numpy"), folder, draw)
        values = {one.place: one for one in observed.values}
        elements = {p: np.load(folder / one.file) for p, one in values.items() if one.file}
        return observed, values, elements

    return seen


def test_results_may_be_nested(seen):
    _, values, elements = seen("nested")
    assert elements["output['y']"].tolist() == [3.0] * 6
    assert values["output['y']"].shape == (2, 3) and values["output['y']"].dtype == "float32"
    assert elements["output['z'][1]"].tolist() == [3] and elements["output['z'][2]"] == [0.5]
    assert [values[f"output['z'][{i}]"].dtype for i in (1, 2, 5)] == ["int", "float", "float64"]
    assert values["output['z'][0]"].text == "None" and values["output['z'][3]"].text == "'a'"
    assert "output['z'][4], empty" in values
    assert values["output[1]"].unread and values["output[1]"].text == "object"


def test_what_a_call_writes_to_is_a_result_once(seen):
    ones = TensorSpec((2,), fill=Fill("constant", 1.0))
    _, _, elements = seen("writes", x=ones, y=ones)
    assert elements.keys() == {"output", "x after the call"}
    assert elements["x after the call"].tolist() == [2.0, 2.0]
    np.testing.assert_allclose(elements["output"], np.exp([1.0, 1.0]), rtol=1e-6)


def test_random_numbers_are_those_of_the_draw(seen):
    first, same, other = (seen("draws", draw=n)[2]["output"].tolist() for n in (0, 0, 1))
    assert first == same != other


def test_of_large_results_a_part_is_kept(seen, monkeypatch):
    monkeypatch.setattr(call_outputs, "MOST_BYTES", 10)
    _, values, elements = seen("nested")
    assert values["output['y']"].step > 1 and values["output['y']"].shape == (2, 3)
    assert len(elements["output['y']"]) == -(-6 // values["output['y']"].step)


def test_what_cannot_be_called_has_a_reason(seen):
    observed, values, _ = seen("fails")
    assert observed.refusal == "ValueError: bad luck" and not values


def test_memory_that_is_not_written_is_known(seen):
    observed, _, _ = seen("", target=OperatorTarget("numpy", "empty"), shape=(2, 2))
    assert observed.unwritten and not observed.refusal
