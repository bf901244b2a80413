"""The framework that a command mentions."""

import pytest

from opperf.frameworks import mentioned
from opperf.frameworks.mentioned import mentioned_framework


@pytest.fixture(autouse=True)
def all_installed(monkeypatch):
    monkeypatch.setattr(mentioned, "is_available", lambda name: True)


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def written(name, text):
        (tmp_path / name).write_text(text)
        return name

    return written


def test_names_mention_their_package():
    assert mentioned_framework({"names": ("torch.mm", "relu")}) == ("torch", "which torch.mm is of")
    assert mentioned_framework({"name": "jax.numpy.add"}).framework == "jax"
    assert mentioned_framework({"names": ("relu", "linalg.*"), "shape": "torch.x=3"}) is None
    assert mentioned_framework({"names": ("torch.mm", "jax.numpy.add")}) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import torch\nimport numpy as np", "torch"),
        ("from torch.nn import functional", "torch"),
        ("def make():\n    import jax.numpy as jnp\n    return jnp.ones(3)", "jax"),
        ("import numpy", "numpy"),
        ("import torch, jax", None),
        ("from . import torch", None),
        ("import torch\nthis is no Python", None),
        ("x = 1", None),
    ],
)
def test_a_file_mentions_what_it_imports(file, text, found):
    mention = mentioned_framework(
        {"names": ("k.py:f",), "input_function": file("k.py", text) + ":make"}
    )
    assert mention == (found and (found, "which k.py imports"))


def test_a_file_that_is_not_there_says_nothing(file):
    assert mentioned_framework({"names": ("missing.py:f",)}) is None


def test_files_of_one_framework_and_numpys_are_of_that_framework(file):
    words = (file("a.py", "import torch"), file("b.py", "import numpy"))
    assert mentioned_framework({"names": words}).framework == "torch"


def test_one_that_is_not_installed_is_not_chosen(monkeypatch):
    monkeypatch.setattr(mentioned, "is_available", lambda name: False)
    assert mentioned_framework({"names": ("torch.mm",)}) is None
