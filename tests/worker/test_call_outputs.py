"""The results of one untimed call, with NumPy."""

import msgspec
import numpy as np
import pytest

from opperf.frameworks import load
from opperf.instruments.peaks import LOCAL_METER
from opperf.instruments.visit import Conditions, KeptResults
from opperf.model import Case, FileTarget, Fill, OperatorTarget, Settings, TensorSpec
from opperf.worker import call_outputs
from opperf.worker.call_outputs import observe
from opperf.worker.measure import measure
from opperf.worker.protocol import AFTER, AGAIN, OBSERVED, OTHER, TIMED, Observed

FUNCTIONS = """
import numpy as np
def nested(x): return {"y": x + 1, "z": [None, 3, 0.5, "a", (), np.float64(2)], 1: object()}
def writes(x, y): x += 1; np.exp(y, out=y); return y
def draws(x): return np.random.random(3)
def adds(x): return x + 1
CALLS = []
def counts(x): CALLS.append(1); return float(len(CALLS))
def refuses(x):
    if x[0, 0] != 2: raise ValueError("another x")
    return x
def fails(x): raise ValueError("bad\\nluck")
"""


@pytest.fixture
def seen(tmp_path):
    """What a call resulted in: the values by place, and their elements."""
    file = tmp_path / "mine.py"
    file.write_text(FUNCTIONS)

    def seen(name, draw=0, target=None, calls=0, **arguments):
        target = target or FileTarget("numpy", str(file), name)
        arguments = arguments or {"x": TensorSpec((2, 3), fill=Fill("constant", 2.0))}
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        case = Case(target, arguments, Settings(profiler="python"))
        observed = observe(case, load("numpy"), folder, draw, calls)
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


def test_later_calls_have_the_same_and_other_contents(seen):
    observed, _, elements = seen("adds", calls=3)
    assert observed.calls == 3 and (observed.without_others, observed.failed_others) == ("", "")
    assert elements.keys() == {"output", f"output{AGAIN}", f"output{OTHER}"}
    # Of contents that no seed changes, three quarters.
    assert [elements[place].tolist() for place in elements] == [[3.0] * 6, [3.0] * 6, [2.5] * 6]
    drawn = TensorSpec((2, 3), fill=Fill("uniform", 0.0, 1.0))
    _, _, elements = seen("adds", calls=1, x=drawn)
    first, again, other = (elements[f"output{end}"] for end in ("", AGAIN, OTHER))
    assert (first == again).all() and (first != other).any() and (other >= 1).all()
    assert (other <= 2).all()


def test_the_number_of_calls_is_that_which_was_asked_for(seen):
    _, _, elements = seen("counts", calls=3)
    assert [one.item() for one in elements.values()] == [1.0, 5.0, 6.0]
    observed, _, _ = seen("adds", calls=None)
    assert call_outputs.LEAST_CALLS <= observed.calls <= call_outputs.MOST_CALLS


def test_inputs_that_a_call_writes_to_have_other_contents(seen):
    ones = TensorSpec((2,), fill=Fill("constant", 1.0))
    _, _, elements = seen("writes", calls=2, x=ones, y=ones)
    for end, x in (("", 1.0), (AGAIN, 1.0), (OTHER, 0.75)):
        assert elements[f"x after the call{end}"].tolist() == [x + 1] * 2
        np.testing.assert_allclose(elements[f"output{end}"], np.exp([x, x]), rtol=1e-6)


def test_a_call_that_refuses_other_contents_is_said(seen):
    refused, _, _ = seen("refuses", calls=1)
    assert (refused.without_others, refused.failed_others) == ("ValueError: another x", "")
    drawn = TensorSpec((2, 3), fill=Fill("constant", 2.0), dtype="int64")
    observed, _, elements = seen("adds", calls=1, x=drawn)
    assert elements.keys() == {"output", f"output{AGAIN}"} and observed.without_others == ""


def test_types_are_those_of_containers_and_arrays(seen):
    _, values, _ = seen("nested")
    assert values["type of output"].text == "dict"
    assert values["type of output['z']"].text == "list"
    assert (values["output['y']"].type, values["output['y']"].usual) == ("numpy.ndarray", True)
    assert values["output['z'][5]"].type == "numpy.generic"


def test_what_was_timed_is_called_again(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(FUNCTIONS)
    one = TensorSpec((2,), fill=Fill("uniform", 0.0, 1.0))
    case = Case(
        FileTarget("numpy", str(file), "writes"),
        {"x": one, "y": one},
        Settings(profiler="python", runs=3, warmup=1, memory=False),
        passes=("forward",),
    )
    folder = tmp_path / "results"
    kept = KeptResults(str(folder), 2)
    record = measure(case, load("numpy"), conditions=Conditions(LOCAL_METER, results=kept))
    assert record.status.value == "ok" and len(record.samples["forward"]) == 3
    found = msgspec.json.decode((folder / OBSERVED).read_bytes(), type=Observed)
    made = {one.place: np.load(folder / one.file) for one in found.values}
    first = np.load(_first(case, tmp_path, "output"))
    assert (made[f"output{AFTER}"] == first).all()
    assert (made[f"output{TIMED}"] == first).all() and f"x after the call{TIMED}" in made
    assert (made[f"output{AFTER}{OTHER}"] != first).any()
    assert f"x after the call{AFTER}" in made


def _first(case, tmp_path, place):
    folder = tmp_path / "first"
    folder.mkdir()
    observed = observe(case, load("numpy"), folder)
    return folder / next(one.file for one in observed.values if one.place == place)
