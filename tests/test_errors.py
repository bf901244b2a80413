"""Error messages: one line, and near names."""

from opperf.errors import one_line, suggest, unknown


def test_a_near_name_is_suggested_whatever_its_case():
    assert suggest("batchnorm", ["BatchNorm", "relu"]) == "; did you mean BatchNorm?"


def test_nothing_near_suggests_nothing():
    assert suggest("zzzzzz", ["BatchNorm", "relu"]) == ""


def test_an_unknown_word_is_refused_with_the_known_ones_and_whose_they_are():
    assert str(unknown("size", "smal", ["large", "small"])) == (
        "unknown size 'smal'; did you mean small?; known: large, small"
    )
    assert str(unknown("mode", "jit", ("eager",), "toy")) == "unknown mode 'jit'; toy has: eager"


def test_a_long_text_becomes_one_line():
    line = one_line("a\n  b\t" + "c" * 500, limit=20)
    assert len(line) == 20
    assert line.startswith("a b c") and line.endswith("...")
