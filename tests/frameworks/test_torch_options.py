"""PyTorch's options by name, as `--set` has them."""

import re

import pytest

torch = pytest.importorskip("torch")

from opperf.errors import UsageError  # noqa: E402
from opperf.frameworks.torch.options import OPTIONS, option  # noqa: E402


def flags():
    return [name for name, one in OPTIONS.items() if not one.is_function]


def value_of(name):
    found = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def test_every_option_exists():
    for name in OPTIONS:
        value_of(name)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("torch.backends.cudnn.benchmark", "true", True),
        ("torch.backends.cudnn.benchmark_limit", "3", 3),
        ("torch.backends.mkldnn.enabled", "False", False),
        ("torch.backends.cudnn.rnn.fp32_precision", "ieee", "ieee"),
    ],
)
def test_a_flag_is_set_when_it_is_applied(monkeypatch, name, text, value):
    owner, _, last = name.rpartition(".")
    before = value_of(name)
    assert before != value
    apply = option(name, text)
    assert value_of(name) == before
    try:
        apply()
        assert value_of(name) == value
    finally:
        setattr(value_of(owner), last, before)


def test_setters_are_called():
    before = torch.are_deterministic_algorithms_enabled(), torch.backends.cuda.flash_sdp_enabled()
    try:
        option("torch.use_deterministic_algorithms", "true")()
        option("torch.backends.cuda.enable_flash_sdp", "false")()
        assert torch.are_deterministic_algorithms_enabled()
        assert not torch.backends.cuda.flash_sdp_enabled()
    finally:
        torch.use_deterministic_algorithms(before[0])
        torch.backends.cuda.enable_flash_sdp(before[1])


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "torch.backends.cudnn.benchmrk",
            "true",
            "unknown option 'torch.backends.cudnn.benchmrk'; did you mean "
            "torch.backends.cudnn.benchmark",
        ),
        ("allow_tf32", "true", "did you mean torch.backends."),
        ("torch.backends.cudnn.benchmark", "1", "it is true or false"),
        ("torch.backends.cudnn.benchmark_limit", "-1", "it is an integer"),
        (
            "torch.set_float32_matmul_precision",
            "hihg",
            "--set torch.set_float32_matmul_precision=hihg: it is one of highest, high, medium",
        ),
        ("torch.backends.quantized.engine", "abacus", "it is one of "),
        ("xyzzy", "1", "unknown option 'xyzzy'; torch has: torch.backends."),
    ],
)
def test_a_wrong_name_or_value_is_one_line(name, text, words):
    with pytest.raises(UsageError, match=re.escape(words)) as refused:
        option(name, text)
    assert "\n" not in str(refused.value)


def test_what_a_build_does_not_take_is_one_line(monkeypatch):
    def refuse(value):
        raise RuntimeError("not compiled in\nwith a stack")

    monkeypatch.setattr(torch.backends.mha, "set_fastpath_enabled", refuse)
    apply = option("torch.backends.mha.set_fastpath_enabled", "true")
    words = "--set torch.backends.mha.set_fastpath_enabled=true: not compiled in"
    with pytest.raises(UsageError, match=f"^{re.escape(words)}$"):
        apply()
