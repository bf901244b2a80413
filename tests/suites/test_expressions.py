"""Expressions: what they compute, and all else is refused."""

import pytest

from opperf.errors import UsageError
from opperf.suites.expressions import evaluate

NAMES = {"gpu": {"count": 2}, "nodes": [{"name": "a"}, {"name": "b"}], "n": 3}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("len(nodes) >= 2 and gpu['count'] > 1", True),
        ("gpu.count * 4 + n % 2 - -1", 10),
        ("1 < n < 3", False),
        ("n in [1, 3] and n not in (2,)", True),
        ("max(n, 7) // 2 if not gpu.count == 3 else 0", 3),
        ("nodes[1].name + 'x'", "bx"),
        ("round(2.567, 1) + int('4') + float(1)", 7.6),
        ("false or null is None", True),
        ("2 ** 10", 1024),
        ("min(nodes[0]['name'], 'b')", "a"),
    ],
)
def test_an_expression_has_pythons_value(text, value):
    assert evaluate(text, NAMES) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "().__class__",
        "nodes.append",
        "''.join(['a'])",
        "[x for x in nodes]",
        "lambda: 1",
        "f'{n}'",
        "(x := 3)",
        "len(*nodes)",
        "len(obj=1)",
        "{1: 2}",
        "b'x'",
        "1 << 9",
        "~n",
        "'a' * 9",
        "'%9d' % 3",
        "9 ** 9 ** 9",
        "round(5, -10 ** 9)",
        "m",
        "gpu.cont",
        "nodes[7]",
        "1 / 0",
        "1 +",
        "1; 2",
        "(" * 300 + "1" + ")" * 300,
        "-" * 900 + "1" * 200,
    ],
)
def test_all_else_is_refused(text):
    with pytest.raises(UsageError):
        evaluate(text, NAMES)


def test_names_are_suggested():
    with pytest.raises(UsageError, match="has no cont; did you mean count?"):
        evaluate("gpu.cont", NAMES)
