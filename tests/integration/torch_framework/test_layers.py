"""Layers of PyTorch by path, with `--shape` of their inputs."""

import msgspec
import pytest

from opperf.frameworks import load
from opperf.model import Settings, Status
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection
from opperf.worker.answers import script
from opperf.worker.measure import measure

pytest.importorskip("torch")

SETTINGS = Settings(warmup=0, runs=1, profiler="python", mode="eager", memory=False)


@pytest.mark.parametrize(
    "name, shapes, values, label",
    [
        ("LayerNorm", {"input": (2, 3, 8)}, {}, "LayerNorm(normalized_shape=[8])"),
        ("BatchNorm2d", {"input": (2, 3, 4, 4)}, {}, "BatchNorm2d(num_features=3)"),
        (
            "Conv2d",
            {"input": (2, 3, 8, 8)},
            {"out_channels": 4, "bias": False},
            "Conv2d(in_channels=3, out_channels=4, kernel_size=3, bias=False)",
        ),
        ("LSTM", {"input": (2, 3, 8)}, {}, "LSTM(input_size=8, hidden_size=8)"),
        (
            "MultiheadAttention",
            {"query": (2, 3, 8)},
            {},
            "MultiheadAttention(embed_dim=8, num_heads=8)",
        ),
        (
            "Embedding",
            {"input": (2, 3)},
            {"num_embeddings": 5},
            "Embedding(num_embeddings=5, embedding_dim=768)",
        ),
        ("NLLLoss", {"input": (2, 3), "target": (2,)}, {}, "NLLLoss"),
        ("ReLU", {"input": (2, 3)}, {}, "ReLU"),
    ],
)
def test_a_layer_is_built_for_its_input_and_measured(name, shapes, values, label):
    torch = load("torch")
    path = f"torch.nn.{name}"
    selection = Selection(patterns=(path,), shapes=shapes, values=values, settings=SETTINGS)
    (case,) = plan(torch, selection).cases
    assert case.label == label and case.settings.phase == "train"
    assert {one: case.arguments[one].shape for one in shapes} == shapes
    record = measure(case, torch)
    assert record.status is Status.OK, record.reason
    assert set(record.summaries) >= {"forward", "backward"}


OWN = """
import torch


class Block(torch.nn.Module):
    def __init__(self, width=8, hidden=4):
        super().__init__()
        self.inner = torch.nn.Linear(width, hidden)

    def forward(self, x):
        return torch.relu(self.inner(x))


class Twice:
    def __call__(self, x):
        return 2 * x
"""


@pytest.mark.parametrize(
    "name, values, shape", [("Block", {"hidden": 3}, (2, 3)), ("Twice", {}, (2, 8))]
)
def test_a_users_class_is_built_and_called_and_its_script_runs(tmp_path, name, values, shape):
    torch = load("torch")
    path = tmp_path / "own.py"
    path.write_text(OWN)
    settings = msgspec.structs.replace(SETTINGS, dtype="float64")
    selection = Selection(
        patterns=(f"{path}:{name}",), shapes={"x": (2, 8)}, values=values, settings=settings
    )
    (case,) = plan(torch, selection).cases
    record = measure(case, torch)
    assert record.status is Status.OK, record.reason
    names = {}
    exec(script(torch, case), names)
    assert names["out"].shape == shape and str(names["out"].dtype) == "torch.float64"


def test_without_a_shape_a_layer_asks_for_one():
    selection = Selection(patterns=("torch.nn.LayerNorm",), settings=SETTINGS)
    made = plan(load("torch"), selection)
    assert made.cases == () and "--shape input=" in made.excluded["LayerNorm"]
