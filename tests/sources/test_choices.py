"""What a framework offers, and how a word that it does not have is refused."""

import re

import pytest

from opperf.errors import DeviceError, UsageError
from opperf.sources.choices import choices, is_misspelt, parse_device, refusal


def test_each_list_is_the_frameworks_own(fake):
    fake.modes.names, fake.modes.autocast_dtypes = ("eager", "lazy"), ("float16",)
    fake.arrays.memory_formats = ("channels_last",)
    assert choices(fake) == {
        "device": ("cpu(0)",),
        "dtype": ("float32", "float64", "int32"),
        "profiler": ("native", "python", "instructions"),
        "mode": ("eager", "lazy"),
        "autocast": ("off", "float16"),
        "memory_format": ("contiguous", "channels_last"),
        "namespace": ("internal", "nd", "np"),
        "category": ("binary", "copying", "moody", "odd", "unary"),
    }


def test_a_device_is_read_by_the_framework(fake):
    assert parse_device(fake, "cpu") == "cpu(0)"
    with pytest.raises(DeviceError, match="the fake has no GPU"):
        parse_device(fake, "gpu")
    with pytest.raises(UsageError, match=re.escape("unknown device 'tpu'; fake has: cpu(0)")):
        parse_device(fake, "tpu")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("dtype", "flot32", "unknown dtype 'flot32'; did you mean float32?; fake has: "),
        ("profiler", "x", "unknown profiler 'x'; fake has: native, python"),
        ("mode", "jit", "unknown mode 'jit'; fake has: eager"),
        ("device", "gpu", "gpu: the fake has no GPU"),
        ("autocast", "float16", "unknown autocast 'float16'; fake has: off"),
        ("memory_format", "nhwc", "unknown memory format 'nhwc'; fake has: contiguous"),
        ("options", {"fake.turb": "true"}, "unknown option 'fake.turb'; did you mean fake.turbo?"),
        ("options", {"fake.turbo": "on"}, "fake.turbo is true or false, not 'on'"),
    ],
)
def test_what_it_lacks_is_refused_with_what_it_has(fake, name, value, words):
    assert str(refusal(fake, name, value)).startswith(words)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dtype", "int32"),
        ("profiler", "python"),
        ("mode", "eager"),
        ("device", "cpu"),
        ("runs", 3),
        ("autocast", "off"),
        ("memory_format", "contiguous"),
        ("options", {"fake.turbo": "true", "fake.stretch": "2.5"}),
    ],
)
def test_what_it_has_and_what_it_has_no_list_of_is_not_refused(fake, name, value):
    assert refusal(fake, name, value) is None


@pytest.mark.parametrize(
    ("name", "value", "misspelt"),
    [
        ("dtype", "flot32", True),
        ("dtype", "complex64", False),
        ("profiler", "pyton", True),
        ("profiler", "events", False),
        ("device", "cpu", False),
        ("options", {"fake.turbo": "on"}, True),
    ],
)
def test_a_slip_of_the_keyboard_is_no_word_of_another_framework(fake, name, value, misspelt):
    assert is_misspelt(fake, name, value) is misspelt
