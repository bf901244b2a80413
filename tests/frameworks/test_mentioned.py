"""The framework that a command mentions."""

import pytest

from opperf.frameworks import PREFERENCE, is_available, mentioned
from opperf.frameworks.mentioned import choose_framework, mentioned_among
from opperf.model import Settings


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
    assert mentioned_among(("torch.mm", "relu")) == ("torch", "which torch.mm is of")
    assert mentioned_among(("relu", "linalg.*", "")) is None
    assert mentioned_among(("torch.mm", "jax.numpy.add")) is None


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
    settings = Settings(input_function=file("k.py", text) + ":make")
    mention = choose_framework("", ("k.py:f",), settings).mention
    assert mention == (found and (found, "which k.py imports"))


def test_a_file_that_is_not_there_says_nothing(file):
    assert mentioned_among(("missing.py:f",)) is None


def test_files_of_one_framework_and_numpys_are_of_that_framework(file):
    words = (file("a.py", "import torch"), file("b.py", "import numpy"))
    assert mentioned_among(words).framework == "torch"


def test_one_that_is_not_installed_is_not_chosen(monkeypatch):
    monkeypatch.setattr(mentioned, "is_available", lambda name: False)
    assert mentioned_among(("torch.mm",)) is None


def test_a_named_one_goes_before_and_the_first_installed_after_it(file):
    words = [file("k.py", "import torch") + ":f"]
    first = next(name for name in PREFERENCE if is_available(name))
    chosen = [choose_framework(*asked).name for asked in (("", words), ("jax", words), ("",))]
    assert chosen == ["torch", "jax", first]
