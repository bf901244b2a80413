"""Numbers in messages: "1 case", "2 cases"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import opperf

NOUNS = (
    "arguments|blocks|calls|cases|copies|cores|differences|errors|events|figures|files|interruptions"
    "|lines|names|notes|operators|periods|processes|records|rows|runs|samples|settings|tables"
    "|tensors|threads|values|warnings|workers"
)
"""Nouns that messages count."""

COUNTED = re.compile(rf"^ (?:\w+ )?(?:{NOUNS})\b")

IN_CODE = re.compile(rf"[}}\"'] (?:\w+ )?(?:{NOUNS})\b")
"""What a noun stands behind in the code of an f-string."""

NUMBER = re.compile(r"len\(|sum\(|\b(?:count|left|more|n|number|rest|total|usable)\b|:,|\.0f")
"""What a number looks like in an f-string."""

MANY = {
    "comparison/ab/session_file.py": "a word that means one case is not ambiguous",
    "comparison/explaining/choosing.py": "a word that means one case is not ambiguous",
    "comparison/files/reading.py": "one figure has a message of its own",
    "machine/pinning.py": "a single core has its number",
    "results/kept.py": "one figure has a message of its own",
    "results/plots/bars.py": "a single row leaves out none",
    "requests/running.py": "one worker has a text of its own",
    "execution/case_source.py": "a single operator has a text of its own",
    "instruments/sampled_passes.py": "a single copy is in the cache",
    "sources/logged_text.py": "a single call has a text of its own",
    "sources/param/macros.py": "beyond a limit",
    "sources/sweeping.py": "beyond a limit",
}
"""Files whose counted numbers are never one, with the reason."""


def counted(path: Path) -> Iterator[str]:
    """Yields the f-strings in which a number stands before one of the nouns."""
    code = path.read_text()
    for node in ast.walk(ast.parse(code)) if IN_CODE.search(code) else ():
        values = node.values if isinstance(node, ast.JoinedStr) else []
        for value, text in zip(values, values[1:], strict=False):
            if (
                isinstance(value, ast.FormattedValue)
                and NUMBER.search(ast.unparse(value))
                and isinstance(text, ast.Constant)
                and COUNTED.match(str(text.value))
            ):
                yield ast.unparse(node)


def test_one_case_is_no_cases() -> None:
    root = Path(opperf.__file__).parent
    found = {
        str(path.relative_to(root)): own
        for path in sorted(root.rglob("*.py"))
        if (own := list(counted(path)))
    }
    assert {name: own for name, own in found.items() if name not in MANY} == {}, "use pluralize"
    assert found.keys() == MANY.keys()
