"""Suites of other packages, which stand-ins replace here; `benchmarks/models/packages.py` runs the
real ones."""

import sys
import textwrap

import pytest

from opperf.errors import OpperfError
from opperf.frameworks import is_available, load
from opperf.model import Case, ModelTarget, Settings, Status
from opperf.models.base import SIZES, Options, find_suite, models_of
from opperf.worker.measure import measure

pytestmark = pytest.mark.skipif(not is_available("torch"), reason="PyTorch is not installed")

TORCHVISION = """
import enum, sys, types
from types import SimpleNamespace
import torch
from torch import nn

class Weights(enum.Enum):
    V1 = 1
    meta = {"categories": ["a", "b", "c"], "min_temporal_size": 4}
    def transforms(self):
        return SimpleNamespace(crop_size=[8])

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

class Classifier(Layer):
    "Takes the mean of all but the channels."
    def forward(self, images):
        assert images.shape[-1] == 8
        outputs = self.layer(images.flatten(2).mean(2))
        # Auxiliary outputs, as Inception has them.
        return (outputs, outputs) if self.training else outputs

class Detector(Layer):
    def forward(self, images, targets=None):
        assert (targets is not None) == self.training
        outputs = [self.layer(image.mean((1, 2))) for image in images]
        if not self.training:
            return [{"scores": output} for output in outputs]
        for target in targets:
            assert (target["boxes"][:, 2:] > target["boxes"][:, :2]).all()
            assert 1 <= target["labels"].min() and target["labels"].max() <= 2
            assert target["masks"].shape[1:] == images[0].shape[1:]
        return {"box": outputs[0].square().mean(), "class": outputs[0].abs().mean()}

class Segmentation(Layer):
    def forward(self, images):
        return {"out": self.layer(images.movedim(1, -1)).movedim(-1, 1)}

class Flow(Layer):
    def forward(self, first, second):
        return [self.layer((first - second).movedim(1, -1)).movedim(-1, 1)[:, :2]] * 2

def builder(module, made, **defaults):
    def build(*, weights="downloaded", weights_backbone="downloaded", quantize=False):
        assert weights is weights_backbone is None, "it would download weights"
        assert quantize == ("quantization" in module)
        return made()
    build.__module__ = f"torchvision.models.{module}"
    build.__doc__ = made.__doc__
    return build

BUILDERS = {
    "classifier": builder("resnet", Classifier),
    "mask_detector": builder("detection.mask_rcnn", Detector),
    "segmentation": builder("segmentation.fcn", Segmentation),
    "flow": builder("optical_flow.raft", Flow),
    "video": builder("video.resnet", Classifier),
    "quantized": builder("quantization.resnet", Classifier),
    "impossible": builder("resnet", lambda: 1 / 0),
}
BUILDERS["classifier"].__doc__ = "Net from `A Title <https://a.b>`__.\\n\\nMore."
models = SimpleNamespace(
    list_models=lambda: list(BUILDERS),
    get_model_builder=BUILDERS.__getitem__,
    get_model_weights=lambda name: [
        SimpleNamespace(meta=Weights.meta.value, transforms=Weights.V1.transforms)
    ],
)
"""

TIMM = """
from types import SimpleNamespace
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.num_classes = classes
        self.layer = nn.Linear(3, classes or 5)
    def forward(self, images):
        assert images.shape[1:] == (3, 12, 10)
        return self.layer(images.mean((2, 3)))

CLASSES = {"net": 4, "features": 0}

def list_models():
    return list(CLASSES)

def create_model(name, pretrained):
    assert not pretrained
    return Net(CLASSES[name])

models = SimpleNamespace(model_entrypoint=lambda name: Net)
data = SimpleNamespace(resolve_model_data_config=lambda module: {"input_size": (3, 12, 10)})
"""

TRANSFORMERS = """
import torch
from torch import nn
from types import SimpleNamespace

class Configuration(SimpleNamespace):
    def __init__(self, **fields):
        super().__init__(**{"vocab_size": 32, "num_mel_bins": 80, "num_labels": 2, **fields})
        self.text_config = SimpleNamespace(vocab_size=16)

class Output(dict):
    loss = property(lambda self: self.get("loss"))

class Net(nn.Module):
    def __init__(self, configuration):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
    def forward(self, **inputs):
        means = [one.float().mean() for one in inputs.values() if one is not True]
        output = Output(logits=self.scale * sum(means))
        if self.training:
            assert "labels" in inputs or inputs["return_loss"]
            output["loss"] = output["logits"].square().mean()
        return output

def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Configuration if name.endswith("Config") else Net
"""

ONCE = {"profiler": "python", "runs": 1, "warmup": 0, "memory": False}


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Returns a function that writes a package and puts it on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    written = []

    def write(name, source):
        written.append(name)
        sys.modules.pop(name, None)
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(source))

    yield write
    for name in written:
        sys.modules.pop(name, None)


def run(suite, name, phase="predict", **target):
    passes = ("forward", "backward") if phase == "train" else ("forward",)
    made = ModelTarget("torch", name, suite=suite, **{"size": "small", **target})
    return measure(Case(made, {}, Settings(**ONCE, phase=phase), passes), load("torch"))


def assert_runs(suite, name, phase):
    record = run(suite, name, phase)
    assert record.status is Status.OK, record.reason
    assert ("backward" in record.summaries) == (phase == "train")


@pytest.mark.parametrize("phase", ["predict", "train"])
@pytest.mark.parametrize("name", ["classifier", "mask_detector", "segmentation", "flow", "video"])
def test_each_kind_of_torchvisions_models_has_its_inputs_and_loss(install, name, phase):
    install("torchvision", TORCHVISION)
    assert_runs("torchvision", name, phase)


def test_quantised_models_only_predict(install):
    install("torchvision", TORCHVISION)
    listed = {model.name: model for model in models_of("torchvision", "torch")}
    assert list(listed) == sorted(listed)
    assert listed["quantized"].phases == ("predict",)
    assert listed["classifier"].why == "Net from A Title (https://a.b)"
    assert_runs("torchvision", "quantized", "predict")


@pytest.mark.parametrize("phase", ["predict", "train"])
@pytest.mark.parametrize("name", ["net", "features"])
def test_timms_models_have_images_of_their_own_size(install, name, phase):
    install("timm", TIMM)
    assert [model.name for model in models_of("timm", "torch")] == ["features", "net"]
    assert_runs("timm", name, phase)


def test_a_seed_decides_the_weights_and_the_inputs(install):
    install("timm", TIMM)

    def made(seed):
        model = find_suite("timm").build("torch", "net", Options(seed=seed, batch_size=1))
        return [*model.call.state_dict().values(), *model.inputs]

    first, again, other = made(1), made(1), made(2)
    assert all(one.equal(two) for one, two in zip(first, again, strict=True))
    assert not any(one.equal(two) for one, two in zip(first, other, strict=True))


def test_every_row_of_transformers_has_labels_to_train(install):
    from opperf.models.torch.transformers_table import TABLE

    install("transformers", TRANSFORMERS)
    listed = models_of("transformers", "torch")
    assert [model.name for model in listed] == sorted(TABLE)
    for model in listed:
        assert model.sizes == SIZES
        for phase in model.phases:
            record = run("transformers", model.name, phase, batch_size=1)
            assert record.status is Status.OK, f"{model.name}: {record.reason}"


def test_a_version_that_lacks_a_model_skips_it(install):
    install("transformers", "")
    record = run("transformers", "bert")
    assert record.status is Status.SKIPPED
    assert record.reason == "transformers unknown has no BertConfig"


@pytest.mark.parametrize("suite", ["torchvision", "timm", "transformers"])
def test_a_missing_package_is_a_line_with_what_to_install(suite, monkeypatch):
    monkeypatch.setitem(sys.modules, suite, None)
    with pytest.raises(
        OpperfError, match=f"install it with: pip install {suite}( torchvision)?$"
    ) as caught:
        models_of(suite, "torch")
    record = run(suite, "bert")
    assert record.status is Status.SKIPPED
    assert record.reason == str(caught.value)


def test_a_package_for_another_torch_is_a_line_too_each_time(install):
    install("torchvision", "raise RuntimeError('operator torchvision::nms does not exist')")
    for _ in range(2):
        with pytest.raises(OpperfError) as caught:
            models_of("torchvision", "torch")
        message = str(caught.value)
        assert "torchvision unknown cannot be imported beside torch " in message
        assert " (RuntimeError: operator torchvision::nms does not exist); use packages" in message
        assert "\n" not in message
    assert run("torchvision", "resnet18").status is Status.SKIPPED


def test_a_model_that_cannot_be_built_costs_itself(install):
    install("torchvision", TORCHVISION)
    record = run("torchvision", "impossible")
    assert record.status is Status.FAILED
    assert "ZeroDivisionError: division by zero" in record.reason
    assert run("torchvision", "classifier").status is Status.OK


@pytest.mark.parametrize(
    "name, target, message",
    [
        ("nte", {}, "suite timm has no model 'nte'; did you mean net?"),
        ("net", {"size": "tiny"}, "unknown size 'tiny'; net of suite timm has: small, default,"),
        ("net", {"batch_size": 0}, "a batch of 0; give 1 or more"),
    ],
)
def test_what_a_suite_lacks_is_a_failure_with_a_reason(install, name, target, message):
    install("timm", TIMM)
    record = run("timm", name, **target)
    assert record.status is Status.FAILED
    assert record.reason.startswith(message)
