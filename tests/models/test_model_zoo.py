"""Models of Gluon's zoo."""

import numpy as np
import pytest

from opperf.frameworks import is_available, load
from opperf.instruments.prepared import case_scope
from opperf.model import Case, ModelTarget, Settings, Status
from opperf.models.base import Options, find_suite, models_of
from opperf.worker.binding import bound_of
from opperf.worker.measure import measure

pytestmark = pytest.mark.skipif(not is_available("mxnet"), reason="MXNet is not installed")


def case_of(name, phase="predict", mode="eager", seed=0):
    settings = Settings(
        profiler="python", runs=1, warmup=0, memory=False, phase=phase, mode=mode, seed=seed
    )
    passes = ("forward", "backward") if phase == "train" else ("forward",)
    return Case(ModelTarget("mxnet", name, suite="gluon", batch_size=1), {}, settings, passes)


def test_the_suite_has_every_model_of_the_zoo():
    import mxnet as mx

    with pytest.raises(ValueError, match="Available options are") as caught:
        mx.gluon.model_zoo.vision.get_model("none")
    known = str(caught.value).partition("Available options are")[2].split()
    assert [model.name for model in models_of("gluon", "mxnet")] == known


@pytest.mark.parametrize("phase, mode", [("predict", "eager"), ("train", "hybridize")])
@pytest.mark.parametrize("name", ["mobilenet0.25", "squeezenet1.1"])
def test_a_model_is_measured(name, phase, mode):
    record = measure(case_of(name, phase, mode), load("mxnet"))
    assert record.status is Status.OK, record.reason
    assert ("step" in record.summaries) == (phase == "train")


def test_a_seed_decides_the_weights_and_the_inputs():
    framework = load("mxnet")

    def outputs(seed):
        case = case_of("mobilenet0.25", seed=seed)
        with case_scope(case, framework):
            return bound_of(case, framework).function.results()["output"].asnumpy()

    first = outputs(1)
    np.testing.assert_array_equal(first, outputs(1))
    assert np.abs(first - outputs(2)).max() > 0


def test_inception_has_images_of_its_own_size():
    model = find_suite("gluon").build("mxnet", "inceptionv3", Options(batch_size=2))
    assert model.inputs[0].shape == (2, 3, 299, 299)
