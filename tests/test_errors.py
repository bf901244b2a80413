"""Error messages: one line, and near names."""

from opperf.errors import one_line, suggest


def test_a_near_name_is_suggested_whatever_its_case():
    assert suggest("batchnorm", ["BatchNorm", "relu"]) == "; did you mean BatchNorm?"


def test_nothing_near_suggests_nothing():
    assert suggest("zzzzzz", ["BatchNorm", "relu"]) == ""


def test_a_long_text_becomes_one_line():
    line = one_line("a\n  b\t" + "c" * 500, limit=20)
    assert len(line) == 20
    assert line.startswith("a b c") and line.endswith("...")
