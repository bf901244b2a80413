"""What a function of models may return."""

import pytest

from opperf.errors import UsageError
from opperf.frameworks.models import Model, read_model


def call(x):
    return x


def mean(outputs):
    return outputs.mean()


@pytest.mark.parametrize(
    "returned",
    [Model(call, (1,), mean), (call, (1,), mean), {"call": call, "inputs": (1,), "loss": mean}],
)
def test_a_model_is_read_from_each_form(returned):
    assert read_model(returned, "f") == Model(call, (1,), mean)


@pytest.mark.parametrize(
    "returned, message",
    [
        (call, "f: returned a function; return (model, inputs)"),
        ((1, (2,)), "f: the model is a int, and not callable"),
        ((call, ()), "f: the model has no inputs"),
        ((call, "x"), "f: the inputs are a str"),
        ({"call": call}, "f: the model has no inputs"),
        ({"call": call, "input": (1,)}, "f: a model has no 'input'; did you mean inputs?"),
    ],
)
def test_what_is_no_model_is_one_line(returned, message):
    with pytest.raises(UsageError) as raised:
        read_model(returned, "f")
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)
