"""TorchBench's models, in a made-up checkout."""

import re
import sys
import textwrap
from pathlib import Path

import pytest

from opperf.errors import UsageError
from opperf.frameworks import is_available, load
from opperf.model import Case, ModelTarget, Settings, Status
from opperf.models.base import models_of
from opperf.worker.measure import measure

pytest.importorskip("yaml", reason="PyYAML is not installed")
pytestmark = pytest.mark.skipif(not is_available("torch"), reason="PyTorch is not installed")

BASE = """
    import os, sys, torch

    class BenchmarkModel:
        def __init__(self, test, device, batch_size=None, extra_args=[]):
            # What models of TorchBench rely on.
            assert os.path.exists("torchbenchmark/models"), "not in the checkout's folder"
            assert len(sys.argv) == 1, "arguments of another program"
            seed = torch.manual_seed
            torch.manual_seed = lambda _: seed(1337)
            torch.set_grad_enabled(test == "train")
            self.test, self.device, self.batch_size = test, device, batch_size or 3
"""

ALEXNET = """
    import torch
    from torch import nn
    from ...util.model import BenchmarkModel
    from torchbenchmark.tasks import VISION

    class Model(BenchmarkModel):
        task = VISION.CLASS_IFICATION

        def get_module(self):
            return nn.Linear(4, 2), (torch.ones(self.batch_size, 4),)
"""

FIXED = """
    import torch
    from torch import nn
    from torchbenchmark.util.model import BenchmarkModel

    class Model(BenchmarkModel):
        ALLOW_CUSTOMIZE_BSIZE = False

        def get_module(self):
            if self.test == "train":
                raise NotImplementedError("Test train is not implemented.")
            return nn.Linear(4, 2), {"input": torch.ones(self.batch_size, 4)}
"""

MODELS = {
    "alexnet": ALEXNET,
    "broken": "import no_such_package",
    "drq": ALEXNET,
    "exits": "raise SystemExit(3)",
    "fixed": FIXED,
    "misspelt": "class Model(",
}

METADATA = {
    "alexnet": "eval_nograd: true",
    "drq": """
        not_implemented:
        - device: NVIDIA A10G
        - test: train
        - device: cpu
          test: eval
    """,
}


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(textwrap.dedent(text))


@pytest.fixture
def checkout(tmp_path):
    root = tmp_path / "benchmark"
    package = root / "torchbenchmark"
    write(package / "__init__.py", "")
    write(package / "tasks.py", "class VISION:\n    CLASS_IFICATION = 1\n")
    write(package / "util" / "model.py", BASE)
    for name, source in MODELS.items():
        write(package / "models" / name / "__init__.py", source)
    for name, source in METADATA.items():
        write(package / "models" / name / "metadata.yaml", source)
    (package / "models" / "__pycache__").mkdir()
    yield root
    for name in [*sys.modules]:
        if name.partition(".")[0] == "torchbenchmark":
            del sys.modules[name]


def run(checkout, name, phase="predict", **target):
    made = ModelTarget("torch", name, suite="torchbench", folder=str(checkout), **target)
    settings = Settings(profiler="python", runs=1, warmup=0, memory=False, phase=phase)
    passes = ("forward", "backward") if phase == "train" else ("forward",)
    return measure(Case(made, {}, settings, passes), load("torch"))


def test_its_models_are_listed_without_being_imported(checkout):
    listed = {model.name: model for model in models_of("torchbench", "torch", str(checkout))}
    assert [*listed] == sorted(MODELS)
    assert {name: model.tier for name, model in listed.items() if model.tier} == {
        "alexnet": 2,
        "drq": 3,
    }
    assert listed["alexnet"].tags == ("vision", "class-ification")
    assert listed["alexnet"].phases == ("predict", "train")
    assert listed["drq"].phases == ("predict",)
    assert "torchbenchmark" not in sys.modules
    inside = str(checkout / "torchbenchmark")
    assert models_of("torchbench", "torch", inside) == (*listed.values(),)


@pytest.mark.parametrize("phase", ["predict", "train"])
def test_a_model_runs_as_torchbench_runs_it_and_leaves_the_process_as_it_was(checkout, phase):
    import torch

    before = Path.cwd(), sys.argv, [*sys.path]
    record = run(checkout, "alexnet", phase)
    assert record.status is Status.OK, record.reason
    assert ("step" in record.summaries) == (phase == "train")
    assert (Path.cwd(), sys.argv, sys.path) == before
    assert torch.is_grad_enabled()
    torch.manual_seed(7)
    assert torch.initial_seed() == 7


@pytest.mark.parametrize(
    "name, target, status, reason",
    [
        ("broken", {}, "skipped", "broken cannot be imported: No module named 'no_such_package'; "),
        ("drq", {}, "skipped", "drq is not implemented for device cpu and test eval, says its"),
        ("drq", {"phase": "train"}, "skipped", "drq is not implemented for test train, says its"),
        ("fixed", {"phase": "train"}, "skipped", "fixed: Test train is not implemented."),
        ("fixed", {"batch_size": 2}, "skipped", "the batch size of fixed is fixed; omit --batch"),
        ("exits", {}, "failed", "exits ended the program with 3 when it was built"),
        ("misspelt", {}, "failed", "/.*/models/misspelt/__init__.py, line 1: '.' was never closed"),
        ("alexne", {}, "failed", "suite torchbench has no model 'alexne'; did you mean alexnet"),
        ("alexnet", {"size": "small"}, "failed", "unknown size 'small'"),
    ],
)
def test_what_does_not_run_is_a_record_with_the_reason(checkout, name, target, status, reason):
    record = run(checkout, name, **target)
    assert record.status == Status(status)
    assert re.match(reason, record.reason)
    assert run(checkout, "fixed").status is Status.OK


RUNNER = """
    batch_size:
      inference:
        alexnet: 5
    dont_change_batch_size:
    - fixed
    lists: &VISION
    - drq
    skip:
      all:
      - *VISION
      device:
        cpu:
        - fixed
"""


def test_the_lists_of_pytorchs_runner_hold_if_it_is_beside(checkout):
    from opperf.models.base import Options, find_suite

    write(checkout.parent / "pytorch/benchmarks/dynamo/torchbench.yaml", RUNNER)
    options = Options(folder=str(checkout))
    assert find_suite("torchbench").build("torch", "alexnet", options).inputs[0].shape == (5, 4)
    assert "(device cpu in benchmarks/dynamo/torchbench.yaml)" in run(checkout, "fixed").reason
    (checkout / "torchbenchmark/models/drq/metadata.yaml").unlink()
    assert "(all in benchmarks/dynamo/torchbench.yaml)" in run(checkout, "drq").reason


def test_two_checkouts_in_one_process_are_not_mixed_up(checkout, tmp_path):
    assert run(checkout, "alexnet").status is Status.OK
    other = tmp_path / "other"
    checkout.rename(other)
    write(other / "torchbenchmark/models/alexnet/__init__.py", "import no_such_package")
    assert "No module named 'no_such_package'" in run(other, "alexnet").reason


@pytest.mark.parametrize(
    "folder, message",
    [
        ("", "suite torchbench is in a folder: give that of a checkout"),
        ("/no/such", "/no/such has no torchbenchmark/models; give the folder of a checkout"),
    ],
)
def test_another_folder_is_a_line_with_what_to_give(folder, message):
    with pytest.raises(UsageError, match=message):
        models_of("torchbench", "torch", folder)


def test_metadata_that_cannot_be_read_is_a_line_with_the_file(checkout):
    write(checkout / "torchbenchmark/models/drq/metadata.yaml", "a: [")
    with pytest.raises(UsageError, match="drq/metadata.yaml is no YAML: "):
        models_of("torchbench", "torch", str(checkout))
    write(checkout / "torchbenchmark/models/drq/metadata.yaml", "- a")
    with pytest.raises(UsageError, match="drq/metadata.yaml: a mapping is expected, not a list"):
        models_of("torchbench", "torch", str(checkout))
    write(checkout / "torchbenchmark/models/drq/metadata.yaml", "not_implemented: [3]")
    with pytest.raises(UsageError, match=r"metadata.yaml: Expected `object`.*not_implemented\[0\]"):
        models_of("torchbench", "torch", str(checkout))
