"""The check of words: what it finds, where it looks, and how it ends."""

import pytest

from tools import check_words
from tools.check_words import COVERED, findings, main


@pytest.mark.parametrize(
    "line, word",
    [
        ("    for one in cases:", "for one in"),
        ('    """What a case needs."""', '"""What'),
        ("the extents, as of a window", ", as of"),
        ("The Least of them", "The Least"),
        ("a batch of pictures", "pictures"),
        ("after which it was measured on", "measured on"),
        ("the norm behind each convolution", "behind each convolution"),
    ],
)
def test_a_private_word_is_found_with_its_line_and_the_fields_word(line, word):
    ((number, found, better),) = findings(f"an image\n{line}\n")
    assert (number, found) == (2, word) and better


@pytest.mark.parametrize(
    "line",
    [
        "for case in cases:",
        '    """Returns what a case needs."""',
        "at least ten, as often as needed",
        "PictureFrame, recommends, amend",
    ],
)
def test_words_of_the_field_are_left_alone(line):
    assert list(findings(line)) == []


@pytest.fixture
def tree(tmp_path, monkeypatch):
    for name in ("docs/a.md", "opperf/good.py", "opperf/rules/bad.py", "opperf/data.csv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("for one in ones" if name != "opperf/good.py" else "for case in cases")
    monkeypatch.setattr(check_words, "ROOT", tmp_path)
    monkeypatch.setattr(check_words, "COVERED", ("docs", "opperf"))


def test_without_paths_what_is_covered_is_read(tree, capsys):
    assert main([]) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("docs/a.md:1: 'for one in':")
    assert second.startswith("opperf/rules/bad.py:1: 'for one in':")


def test_a_path_that_is_given_is_read_alone(tree, capsys):
    assert main(["opperf"]) == 1
    assert capsys.readouterr().out.startswith("opperf/rules/bad.py:1")
    assert main(["opperf/good.py"]) == 0


def test_the_paths_that_are_named_are_there():
    assert all((check_words.ROOT / path).exists() for path in COVERED)
