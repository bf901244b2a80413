"""Layers of Gluon, and classes of a user's file, with `--shape` of their inputs."""

import pytest

from opperf.frameworks import load
from opperf.model import Settings, Status
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection
from opperf.worker.answers import script
from opperf.worker.measure import measure

SETTINGS = Settings(warmup=0, runs=1, profiler="python", memory=False)

OWN = """
from mxnet import gluon


class Head(gluon.HybridBlock):
    def __init__(self, units=3, **named):
        super().__init__(**named)
        with self.name_scope():
            self.dense = gluon.nn.Dense(units)

    def hybrid_forward(self, F, x):
        return self.dense(x)


class Scale(gluon.HybridBlock):
    # Refuses a number for its layout, so that its weights are those that it assigns.

    def __init__(self, layout, units=8, **named):
        super().__init__(**named)
        self.axis = layout.index("C")
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(units,))

    def hybrid_forward(self, F, x, weight):
        return F.broadcast_mul(x, weight)


class Twice:
    def __call__(self, x):
        return 2 * x
"""


@pytest.fixture
def own_file(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return path


@pytest.mark.parametrize(
    "path, shapes, values, label",
    [
        ("mxnet.gluon.nn.Dense", {"x": (2, 8)}, {"units": 3}, "Dense(units=3)"),
        ("mx.gluon.nn.Conv2D", {"x": (2, 4, 8, 8)}, {}, "Conv2D(channels=4, kernel_size=3)"),
        ("mx.gluon.nn.LayerNorm", {"data": (2, 8)}, {}, "LayerNorm"),
        ("mx.gluon.rnn.LSTM", {"inputs": (3, 2, 8)}, {}, "LSTM(hidden_size=8)"),
        (
            "mx.gluon.nn.Embedding",
            {"x": (2, 3)},
            {"input_dim": 5, "output_dim": 4},
            "Embedding(input_dim=5, output_dim=4)",
        ),
        ("{own}:Head", {"x": (2, 8)}, {"units": 5}, "Head(units=5)"),
        ("{own}:Scale", {"x": (2, 8)}, {"layout": "NC"}, "Scale(layout='NC')"),
        ("{own}:Twice", {"x": (2, 8)}, {}, "Twice"),
    ],
)
def test_a_layer_is_built_for_its_input_and_measured_and_its_script_runs(
    own_file, path, shapes, values, label
):
    framework = load("mxnet")
    patterns = (path.format(own=own_file),)
    selection = Selection(patterns=patterns, shapes=shapes, values=values, settings=SETTINGS)
    (case,) = plan(framework, selection).cases
    assert case.label == label and case.category == "layer"
    assert {one: case.arguments[one].shape for one in shapes} == shapes
    record = measure(case, framework)
    assert record.status is Status.OK, record.reason
    names = {}
    exec(script(framework, case), names)
    assert names["out"].shape[0] == next(iter(shapes.values()))[0]
