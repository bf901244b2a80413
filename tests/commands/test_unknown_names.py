"""What an unknown word may mean: an operator of another framework, or a command."""

import pytest

from opperf.commands import unknown_names
from opperf.commands.unknown_names import explain_operator, is_meant_as_command
from opperf.frameworks import package_of

LISTED = "; opperf list prints all operators"


@pytest.fixture
def only_numpy(monkeypatch):
    monkeypatch.setattr(unknown_names, "is_available", lambda name: name == "numpy")
    monkeypatch.setattr(unknown_names, "default_framework", lambda: "numpy")


def installed_by(name):
    return f"(install it with: {package_of(name).install_advice()})"


def test_the_frameworks_that_have_an_operator_are_named_with_what_installs_them(only_numpy):
    message = "no operator is called 'relu'; did you mean real, ravel?"
    assert explain_operator(["run", "relu"], message) == (
        f"no operator is called 'relu'; it is in mxnet {installed_by('mxnet')}, "
        f"torch {installed_by('torch')}, jax as nn.relu {installed_by('jax')}"
    )


def test_installed_ones_are_first_and_need_an_option_alone(monkeypatch):
    monkeypatch.setattr(unknown_names, "is_available", lambda name: name in ("torch", "numpy"))
    message = f"no operator is called 'embedding'{LISTED}"
    assert explain_operator(["embedding", "--framework", "numpy"], message) == (
        "no operator is called 'embedding'; it is in torch (--framework torch), "
        f"mxnet as Embedding {installed_by('mxnet')}"
    )


@pytest.mark.parametrize(
    "words, message, shown",
    [
        # A path into a framework, by its last word.
        (
            ["torch.nn.functional.relu6"],
            "'torch.nn.functional.relu6' is not a name in NumPy; it has to start with one of np",
            "'torch.nn.functional.relu6' is not a name in NumPy; it is in torch as relu6 ",
        ),
        # A near name that has the word is meant as well.
        (
            ["layer_norm"],
            "no operator is called 'layer_norm'; did you mean LayerNorm?",
            "no operator is called 'layer_norm'; did you mean LayerNorm? It is in torch ",
        ),
        # An arm of ab, several names, an option with an equals sign.
        (
            ["ab", "exp,prelu", "--framework=numpy"],
            "arm A (threads:1): no operator is called 'prelu'; did you mean real?",
            "arm A (threads:1): no operator is called 'prelu'; it is in ",
        ),
    ],
)
def test_names_are_found_however_they_are_named(only_numpy, words, message, shown):
    assert explain_operator(words, message).startswith(shown)


@pytest.mark.parametrize(
    "words, message",
    [
        (["nosuch"], f"no operator is called 'nosuch'{LISTED}"),
        # The name is not from the command line, or of the framework itself.
        (["FILE.json"], "FILE.json: no operator is called 'relu'"),
        (["exp", "--framework", "numpy"], "'exp' has no argument 'nosuch'"),
    ],
)
def test_other_messages_stay(monkeypatch, words, message):
    monkeypatch.setattr(unknown_names, "PREFERENCE", ("numpy",))
    assert explain_operator(words, message) == message


@pytest.mark.parametrize("word", ["record", "history", "un-do"])
def test_a_word_like_a_command(word):
    assert is_meant_as_command(word, ["run", "list"], "; did you mean nd.histogram?")


@pytest.mark.parametrize("word", ["run", "relu", "conv3dd", "nd.add", "Convolution", "ad*", "lsit"])
def test_a_word_like_an_operator(word):
    assert not is_meant_as_command(word, ["run"], "; did you mean list, relu?")
