"""Blocks of text with one snippet a line."""

import pytest

from opperf.errors import UsageError
from opperf.snippets import GroupedVariants, iter_parsed_lines, parse_stmts


def code(made):
    return {labels: (one.py_stmt, one.cpp_stmt) for labels, one in made.items()}


SIDE_BY_SIDE = """
    Python | C++
    # @Setup
    x = 1          | int x = 1;
    if x:          |
        y = 2      | int y = 2;
    # @Global setup
                   | #include <vector>
    # @add
    x + y | x + y;
    x+1                     |             x + 1;
    # a comment
    # @or
    x|y  | x | y;
    # @Python alone
    x ** 2
"""


def test_languages_stand_side_by_side_in_columns_of_any_width():
    made = GroupedVariants(SIDE_BY_SIDE)
    assert code(made) == {
        ("add", "Case: 0"): ("x + y", "x + y;"),
        ("add", "Case: 1"): ("x+1", "x + 1;"),
        ("or",): ("x|y", "x | y;"),
        ("Python alone",): ("x ** 2", ""),
    }
    setup = made["or",].setup
    assert setup.py_setup.strip() == "x = 1\nif x:\n    y = 2"
    assert setup.cpp_setup.split("\n") == ["int x = 1;", "", "int y = 2;"]
    assert setup.global_setup.strip() == "#include <vector>"


def test_each_line_is_a_definition_at_its_own_line():
    made = GroupedVariants(
        """
        # @first
        1 + 1
        # @second
        2 + 2
        """
    )
    assert made["second",].place.line == made["first",].place.line + 2
    with pytest.raises(UsageError) as refused:
        GroupedVariants(
            """
            # @one
            1 +
            """
        )
    line = int(str(refused.value).split(":")[1])
    assert line == made["second",].place.line + 8


def test_two_blocks_belong_together_by_label_and_order():
    made = GroupedVariants(
        "# @Setup\nx = 1\n# @add\nx + 1\nx + 2",
        "// @Setup\nint x = 1;\n// @add\nx + 1;\nx + 2;\n// @only\nx + 3;",
        num_threads=(1, 2),
    )
    assert code(made) == {
        ("add", "Case: 0"): ("x + 1", "x + 1;"),
        ("add", "Case: 1"): ("x + 2", "x + 2;"),
        ("only",): ("", "x + 3;"),
    }
    assert made["only",].num_threads == (1, 2)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ("# @a\n1\n# @b\n2\n# @a\n3", "the label 'a' is there twice in the block"),
        ("# @a\n", "a block without a snippet"),
        ("# @Global setup\nimport os\n# @a\n1", "a global setup in Python; it is for C++"),
    ],
)
def test_a_mistake_in_a_block(block, words):
    with pytest.raises(UsageError, match=words):
        GroupedVariants(block)


def test_statements_of_several_lines_stand_side_by_side():
    python, cpp = parse_stmts(
        """
        Python    | C++
        --------- | ----------
        y = f(    | auto y = f(
            x,    |     x,
        )         | );
        """
    )
    assert python.strip() == "y = f(\n    x,\n)"
    assert cpp.strip() == "auto y = f(\n    x,\n);"


def test_lines_one_by_one():
    lines = iter_parsed_lines("""
        Python  | C++
        ------- | ---
        [0]     | {0}

        [...]   | {"..."}
    """)
    assert list(lines) == [("[0]", "{0}"), ("[...]", '{"..."}')]


def test_another_separator():
    assert parse_stmts("a | b // c", separator="//") == ("a | b", "c")
