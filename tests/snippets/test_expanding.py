"""Concrete snippets, and their names."""

import pytest

from opperf.errors import UsageError
from opperf.snippets import GroupedModules, GroupedSetup, GroupedStmts, TimerArgs, expand, flatten

SETUP = GroupedSetup("x = w = 1", "auto x = 1, w = 1;", "#include <vector>")


def test_every_combination_has_a_name_of_its_own_but_for_threads():
    group = GroupedStmts(
        "y = x * w",
        "auto y = x * w;",
        setup=SETUP,
        signature="f(x, w) -> y",
        torchscript=True,
        autograd=True,
        num_threads=(1, 2),
    )
    found = expand({("a", "b"): {"c": group}})
    assert len(found) == 16 and len({one.labels for one in found}) == 8
    assert found[0].labels == ("a", "b", "c", "Eager", "Forward", "Python")
    assert {one.threads for one in found} == {1, 2}
    named = {one.labels[3:]: one for one in found}
    eager, script = (named[mode, "Forward+Backward", "C++"] for mode in ("Eager", "TorchScript"))
    assert (eager.source, eager.setup) == ("auto y = x * w;", "auto x = 1, w = 1;")
    assert (eager.output, eager.has_backward, eager.model) == ("y", True, "")
    assert script.source == "auto y = model.forward({x, w});"
    assert script.model.startswith("def model(x, w):") and script.mode == "script"
    assert script.global_setup == "#include <vector>"
    assert named["TorchScript", "Forward", "Python"].source == "y = model(x, w)"
    assert named["TorchScript", "Forward", "Python"].global_setup == ""


def test_a_module_is_made_in_the_setup_or_for_its_program():
    group = GroupedModules(
        "model = abs", "auto model = g();", setup=SETUP, signature="f(x) -> y", torchscript=True
    )
    named = {one.labels[1:]: one for one in expand({"m": group})}
    python, cpp = named["Eager", "Forward", "Python"], named["Eager", "Forward", "C++"]
    assert (python.setup, python.model) == ("x = w = 1\nmodel = abs", "")
    assert cpp.setup == "auto x = 1, w = 1;\nauto model = g();"
    assert named["TorchScript", "Forward", "Python"].model == "model = abs"
    # Its constructor may use what the setup makes.
    assert named["TorchScript", "Forward", "C++"].model == "x = w = 1\nmodel = abs"


def test_one_snippet_has_its_language_as_its_last_label():
    (one,) = expand({"t": TimerArgs("f();", "int x;", "int f();", language="cpp")})
    assert one.labels == ("t", "C++")
    assert (one.setup, one.global_setup, one.mode) == ("int x;", "int f();", "eager")


def test_flat_definitions_are_nested_ones():
    one = TimerArgs("1")
    assert flatten({"a": {"b": one}, None: {("c", "d"): one}}) == {("a", "b"): one, ("c", "d"): one}
    assert flatten(flatten({"a": {"b": one}})) == {("a", "b"): one}


@pytest.mark.parametrize(
    ("benchmarks", "words"),
    [
        ({("a", "b"): TimerArgs("1"), "a": {"b": TimerArgs("2")}}, "a second definition of a/b"),
        ({"a": {"b": "x + 1"}}, "str under a/b is neither a definition nor a dict"),
        ({"a": {1: TimerArgs("1")}}, "the label 1 under a is no text"),
        ({"": TimerArgs("1")}, "a definition without a label"),
    ],
)
def test_a_mistake_in_a_dict(benchmarks, words):
    with pytest.raises(UsageError, match=words):
        expand(benchmarks)
