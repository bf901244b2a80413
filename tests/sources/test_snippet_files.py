"""Files of snippets as a source."""

from pathlib import Path

import pytest

from opperf.errors import UsageError
from opperf.model import SnippetTarget
from opperf.sources.base import is_source, locate, open_source

SNIPPETS = """from opperf.snippets import GroupedSetup, GroupedStmts

BENCHMARKS = {
    "Add": {
        "scalar": GroupedStmts("x + 1", setup="x = torch.ones(2)"),
        "[0, 0]": GroupedStmts(
            "y = x * w",
            "auto y = x * w;",
            setup=GroupedSetup("x = w = torch.ones(2)", "auto x = torch::ones({2}), w = x;"),
            signature="f(x, w) -> y",
            torchscript=True,
            autograd=True,
            num_threads=2,
        ),
    },
}
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = Path("snippets.py")
    path.write_text(SNIPPETS)
    return path


def names(path):
    return [case.label for case in open_source(Path(path)).cases()]


def test_a_file_is_known_by_what_it_imports_and_is_not_run_for_it(tmp_path):
    path = tmp_path / "kernels.py"
    for text, known in (
        ("import torch\n", False),
        ("# from opperf.snippets import x\n", False),
        ("from opperf.snippets import GroupedStmts\nraise SystemExit\n", True),
        ("import opperf.snippets as s\n", True),
        ("from opperf import compare, snippets\n", True),
    ):
        path.write_text(text)
        assert is_source(path) is known


def test_a_snippet_is_a_case(file):
    cases = {case.label: case for case in open_source(file).cases()}
    assert len(cases) == 9
    plain = cases["Add/scalar/Eager/Forward/Python"]
    assert plain.target == SnippetTarget(
        "torch", "x + 1", "x = torch.ones(2)", name="Add/scalar/Eager/Forward/Python"
    )
    assert (plain.settings.profiler, plain.settings.threads) == ("python", 1)
    assert (plain.origin, plain.category, plain.passes) == ("snippets.py:5", "add", ("forward",))
    script = cases["Add/[0, 0]/TorchScript/Forward+Backward/C++"]
    assert (script.settings.mode, script.settings.threads) == ("script", 2)
    assert script.passes == ("forward", "backward") and script.target.output == "y"


def test_an_id_is_that_of_the_definition_wherever_its_file_is(file, tmp_path):
    first = [case.id for case in open_source(file).cases()]
    (tmp_path / "other.py").write_text("# moved\n" + SNIPPETS)
    assert [case.id for case in open_source(tmp_path / "other.py").cases()] == first
    assert len(set(first)) == 9
    # Of a version of opperf to keep to.
    assert first[0] == "d6b95a36c0075418"


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("Add", 9),
        ("add/scalar", 1),
        ("Add/[0, 0]", 8),
        ("*C++", 4),
        ("*/TorchScript/*/Python", 2),
        ("re:Backward.*Python$", 2),
        ("Add/scalar/Eager/Forward/Python", 1),
    ],
)
def test_a_pattern_selects_by_labels(file, pattern, count):
    place = locate(f"snippets.py:{pattern}")
    assert len(names(place)) == count


def test_a_pattern_that_selects_nothing_names_near_labels(file):
    with pytest.raises(UsageError, match="snippets.py: no snippet is called 'Add/scaler'; did you"):
        open_source(Path("snippets.py:Add/scaler"))


def test_other_words_are_no_source(file):
    Path("kernels.py").write_text("def f(x): return x\n")
    for word in (
        "kernels.py:f",
        "gone.py:f",
        "torch.add",
        "opperf.snippets.gone",
        "opperf.nothing",
    ):
        assert locate(word) is None


def test_the_standard_set_is_named_as_a_module():
    everything = names(locate("opperf.snippets.standard"))
    views = names(locate("opperf.snippets.standard:Views"))
    assert len(everything) > 180 and views == [one for one in everything if one[:6] == "Views/"]
    assert len(names(locate("opperf.snippets.standard:Views/t"))) == 2


HEAD = "from opperf.snippets import GroupedStmts, TimerArgs\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("BENCHMARKS = {\n", "snippets.py:2: '{' was never closed"),
        ("x = 1\nBENCHMARKS = undefined\n", "snippets.py:3: NameError: name 'undefined' is not"),
        ("", "snippets.py: no definitions; assign a dict of them to BENCHMARKS"),
        (
            "BENCHMARKS = {\n  'a': TimerArgs('1'),\n  'a': TimerArgs('2'),\n}\n",
            "snippets.py:4: a second definition of 'a' in one dict; the first one is in line 3",
        ),
        (
            "BENCHMARKS = {\n  'a': {'b': TimerArgs('1')},\n  ('a', 'b'): TimerArgs('2'),\n}\n",
            "snippets.py:4: a second definition of a/b; the first one is at snippets.py:3",
        ),
        (
            "BENCHMARKS = {'a': GroupedStmts('''\nx = 1\nx = = 2\n''')}\n",
            "snippets.py:4: statement: invalid syntax, in 'x = = 2'",
        ),
        (
            "def f():\n  return 1 / 0\nBENCHMARKS = f()\n",
            "snippets.py:3: ZeroDivisionError: division by zero",
        ),
    ],
)
def test_a_mistake_names_file_and_line(file, body, message):
    file.write_text(HEAD + body)
    with pytest.raises(UsageError) as refused:
        open_source(file)
    assert str(refused.value).startswith(message), str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_imports_what_is_beside_it(file):
    Path("own_statements.py").write_text("STATEMENT = 'x * 3'\n")
    file.write_text(
        HEAD + "from own_statements import STATEMENT\n"
        "BENCHMARKS = {'a': GroupedStmts(STATEMENT, setup='x = 1')}\n"
    )
    (case,) = open_source(file).cases()
    assert case.target.source == "x * 3"
