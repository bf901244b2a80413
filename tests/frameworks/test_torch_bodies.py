"""Functions among the arguments of PyTorch's, and what is built of them."""

import math

import pytest

torch = pytest.importorskip("torch")

from opperf.errors import UnknownOperatorError  # noqa: E402
from opperf.frameworks import load  # noqa: E402
from opperf.frameworks.torch import bodies  # noqa: E402
from opperf.instruments.prepared import PreparedCase  # noqa: E402
from opperf.model import CallableTarget, Case, Function, Mapping, Settings, TensorSpec  # noqa: E402
from opperf.worker.answers import script  # noqa: E402

FRAMEWORK = load("torch")
SHAPE = (1, 12, 6, 4)
MASK = Mapping({"mask_mod": Function(f"{bodies.PATH}.causal"), "Q_LEN": 6, "KV_LEN": 6})


def attention(query, key, value, bias):
    scores = query @ key.mT / math.sqrt(SHAPE[-1]) + bias
    return scores.softmax(-1) @ value


def biases():
    distance = torch.arange(6) - torch.arange(6)[:, None]
    slopes = 2.0 ** (-8 * torch.arange(1, 13) / 12)
    return {
        "block_mask": torch.where(distance > 0, -math.inf, 0.0),
        "score_mod": slopes[:, None, None] * distance,
    }


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize(
    ("name", "given"), [("block_mask", MASK), ("score_mod", Function(f"{bodies.PATH}.alibi"))]
)
def test_flex_attention_by_a_mask_and_by_changed_scores(name, given):
    tensors = {one: TensorSpec(SHAPE) for one in ("query", "key", "value")}
    path = "torch.nn.attention.flex_attention.flex_attention"
    settings = Settings(device="cpu(0)", mode="eager")
    case = Case(CallableTarget("torch", path), {**tensors, name: given}, settings)
    prepared = PreparedCase(case, FRAMEWORK)
    made = [prepared.arguments[one] for one in tensors]
    out = prepared.call()
    torch.testing.assert_close(out, attention(*made, biases()[name]))
    names = {}
    source = script(FRAMEWORK, case)
    # `import torch` leaves it out.
    assert "import torch.nn.attention.flex_attention\n" in source
    exec(source, names)
    torch.testing.assert_close(names["out"], out)


def test_a_function_that_does_not_exist():
    with pytest.raises(UnknownOperatorError):
        bodies.function_at(f"{bodies.PATH}.cause")
    with pytest.raises(UnknownOperatorError):
        bodies.function_at("os.system")
