"""Ranges of swept variables, as a user writes them."""

import pytest

from opperf.ranges import MAX_VALUES, check_variable, is_variable, read_range


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("128..2048:x2", (128, 256, 512, 1024, 2048)),
        ("128..2000:x2", (128, 256, 512, 1024)),
        ("64..256:+64", (64, 128, 192, 256)),
        ("64..255:+64", (64, 128, 192)),
        ("5..5:x2", (5,)),
        ("0..2:+1", (0, 1, 2)),
        ("8..20:x1.5", (8, 12, 18)),
        ("1..3:x1.2", (1, 2, 3)),
        ("64,100,128", (64, 100, 128)),
        ("100, 64, 100", (100, 64)),
        ("7", (7,)),
    ],
)
def test_a_range_includes_its_ends(text, values):
    assert read_range(text) == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1..8", "has no step; write 1..8:x2, or 1..8:+1"),
        ("8..1:x2", "is empty, as 1 is less than 8"),
        ("1..8:x1", "is endless"),
        ("1..8:x0", "is endless"),
        ("0..8:x2", "is endless"),
        ("1..8:+0", "+0 is not a step"),
        ("1..8:+1.5", "+1.5 is not a step"),
        ("1..8:2", "'1..8:2' is not a range of integers; write 128"),
        ("1..8:-1", "is not a range of integers"),
        ("-1..8:+1", "is not a range of integers"),
        ("1,,2", "is not a range of integers"),
        ("", "'' is not a range of integers"),
        ("1.5", "is not a range of integers"),
        ("1..9999999999999999999:x2", "is not a range of integers"),
        ("1..100000:+1", f"more than {MAX_VALUES} values"),
        ("1..1000:x1.001", f"more than {MAX_VALUES} values"),
    ],
)
def test_what_is_no_range_is_refused(text, message):
    with pytest.raises(ValueError, match=message.replace("+", r"\+")):
        read_range(text)


def test_a_range_may_have_as_many_values_as_the_limit():
    assert len(read_range(f"1..{MAX_VALUES}:+1")) == MAX_VALUES


@pytest.mark.parametrize("name", ["n", "seq_len", "N2", "_k"])
def test_names_of_variables(name):
    assert is_variable(name) and check_variable(name) == name


@pytest.mark.parametrize("name", ["x", "max", "2n", "", "n-1", "n k"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(ValueError, match="is not a name of a variable"):
        check_variable(name)
