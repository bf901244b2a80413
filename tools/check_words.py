"""Finds words that a reader of the field would not use for what is meant, with the field's word.

    python tools/check_words.py [PATH...]

Without paths it reads `COVERED`. Ends with 1 if it finds any.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

COVERED = ("opperf", "docs", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")

ENDINGS = {".py", ".md", ".jinja"}

WORDS = {
    r"\bpictures?\b": "image",
    r"\bwhole numbers?\b": "integer",
    r"\bplaces of (maxima|minima|values|elements|the)\b": "indices, positions",
    r"\bplaces are\b|: places\b": "indices, positions",
    r"\bdonated_places\b": "donated_argnums",
    r"\b(the|its|their) (greatest|least)\b": "maximum, minimum, lowest",
    r"\bbehind (the (first|second|third|last)|(a|each|every) (block|layer|convolution))\b": "after",
    r", as (of|in|for|by|from|with) ": "like, such as, or a sentence of its own",
    r"\babsurd\b": "an outlier",
    r"\b(is|are|was|were) told\b": "is said, is shown",
    r"\bleft out\b": "omitted",
    r"\bheld against\b": "compared with",
    r"\bmends?\b": "fixes",
    r"\bundecided\b": "needs more blocks, inconclusive",
    r"\bmeasured on\b": "still measured",
    r"\bfore(seen|sees?)\b": "predicted",
    r"\bno hypothesis\b|\bhypothesis\b.*\bno\b": "what is done with it",
    r"\bfor one in\b": "a loop variable that names what is iterated over",
    r'^\s*"""What ': "begin with what is returned or done",
}
"""Regular expressions, each with what to write in place of what it finds; of any case."""

PATTERNS = {re.compile(pattern, re.IGNORECASE): better for pattern, better in WORDS.items()}


def findings(text: str) -> Iterator[tuple[int, str, str]]:
    """Yields the number of each line with such a word, the word, and what to write instead."""
    for number, line in enumerate(text.splitlines(), start=1):
        for pattern, better in PATTERNS.items():
            found = pattern.search(line)
            if found:
                yield number, found[0].strip(), better


def files(paths: Iterable[str]) -> Iterator[Path]:
    """Yields the files of text in these paths, relative to the root."""
    for path in paths:
        start = ROOT / path
        for file in sorted(start.rglob("*")) if start.is_dir() else [start]:
            if file.suffix in ENDINGS:
                yield file


def main(arguments: list[str]) -> int:
    """Prints the findings; returns 1 if there are any."""
    lines = [
        f"{file.relative_to(ROOT)}:{number}: {word!r}: {better}"
        for file in files(arguments or COVERED)
        for number, word, better in findings(file.read_text(encoding="utf-8"))
    ]
    print("\n".join(lines) or "No word to replace")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
