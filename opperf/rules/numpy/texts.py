"""Arrays of texts: the functions of NumPy's `strings`, and of `char`, which NumPy 1 has them in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from opperf.model import Argument, Fill, Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import line
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, below, fixed, rounded_copy, text

FAMILIES = Families()

DOZEN = 12
"""Words of a line of a book."""


class Use(NamedTuple):
    """A call of a function of texts, with its purpose."""

    why: str
    form: str = "words"
    others: Mapping[str, Argument | Fill] = {}
    """Its arguments after the texts."""
    texts: int = 1
    """Its first arguments that are texts."""


UPPERCASE = " " * 32 + "".join(chr(code).upper() for code in range(32, 127))
"""A table for `translate`: characters by their code, blanks for control characters."""

USES: Mapping[str, Use] = {
    "add": Use("first and last names joined", texts=2),
    "capitalize": Use("sentences begun with a capital"),
    "center": Use("a table's headings", others={"width": 120}),
    "compare_chararrays": Use("rows of equal columns", "files", {"cmp": "==", "rstrip": True}, 2),
    "count": Use("how often a syllable occurs", others={"sub": "th"}),
    "encode": Use("bytes for a file", others={"encoding": "utf-8"}),
    "endswith": Use("plurals, by their last letter", others={"suffix": "s"}),
    "expandtabs": Use("columns of a file aligned", "columns"),
    "find": Use("the first of two letters", others={"sub": "he"}),
    "index": Use("the end of paths' first folder", "files", {"sub": "/"}),
    "isalnum": Use("identifiers checked", "identifiers"),
    "isalpha": Use("words checked", "identifiers"),
    "isdecimal": Use("numbers checked before they are converted", "numbers"),
    "isdigit": Use("digits checked before they are converted", "numbers"),
    "islower": Use("words in small letters found", "identifiers"),
    "isnumeric": Use("columns of numbers found", "numbers"),
    "isspace": Use("empty cells found", "blanks"),
    "istitle": Use("names found by their capitals", "names"),
    "isupper": Use("headings found by their capitals", "headings"),
    "join": Use("a dash between letters", others={"sep": "-"}),
    "ljust": Use("a column of words in a report", others={"width": 120}),
    "lower": Use("headings compared without their case", "headings"),
    "lstrip": Use("blanks before cells removed", "cells"),
    "mod": Use("labels with their numbers", "formats", {"values": below(1000)}),
    "multiply": Use("patterns repeated", others={"i": 3}),
    "partition": Use("the folder and the rest of paths", "files", {"sep": "/"}),
    "replace": Use("one spelling by another", others={"old": "th", "new": "z"}),
    "rfind": Use("the last of a syllable", others={"sub": "th"}),
    "rindex": Use("the end of paths' last folder", "files", {"sub": "/"}),
    "rjust": Use("a column of numbers in a report", "numbers", {"width": 120}),
    "rpartition": Use("the folders and the name of paths", "files", {"sep": "/"}),
    "rsplit": Use("the last two parts of paths", "files", {"sep": "/", "maxsplit": 2}),
    "rstrip": Use("blanks behind cells removed", "cells"),
    "slice": Use("the first letters, as keys", others={"start": 0, "stop": 4}),
    "split": Use("the parts of paths", "files", {"sep": "/"}),
    "splitlines": Use("the lines of verses", "lines"),
    "startswith": Use("words of one beginning", others={"prefix": "th"}),
    "str_len": Use("the lengths of texts"),
    "strip": Use("blanks around cells removed", "cells"),
    "swapcase": Use("names typed with the wrong case", "names"),
    "title": Use("names with their capitals"),
    "translate": Use("letters by a table", others={"table": UPPERCASE}),
    "upper": Use("words in capitals, as headings"),
    "zfill": Use("numbers that sort as texts", "numbers", {"width": 16}),
    **dict.fromkeys(
        ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal"),
        Use("two copies of a column of paths compared", "files", texts=2),
    ),
}
"""By the name of a function, in either namespace."""


SHORT = frozenset({"zfill"})
"""Functions whose width a dozen words are longer than."""

LIMITED = frozenset({"strings.encode", "strings.partition", "strings.rpartition"})
"""Functions that texts of any length need further arguments of their dtype for, or have no loop."""


def rows(operator: Operator, use: Use, made: TensorSpec, why: str) -> Arguments:
    """A call for texts that are as `made`."""
    given = {
        name: fixed(*made.shape, fill=value, dtype="int64") if isinstance(value, Fill) else value
        for name, value in use.others.items()
    }
    left = (parameter.name for parameter in operator.parameters if parameter.name not in given)
    first, *others = [name for name, _ in zip(left, range(use.texts), strict=False)]
    # Equal texts: no first letter decides.
    alike = replace(made, fill=rounded_copy(made.fill, first))
    texts = {first: made, **dict.fromkeys(others, alike)}
    return {**texts, **given, WHY: f"{use.why}: {why}"}


def spellings(name: str) -> list[str]:
    """The names of a function in both namespaces."""
    return [f"strings.{name}", f"char.{name}"]


@FAMILIES.add(*(spelling for name in USES for spelling in spellings(name)), "compare_chararrays")
def texts(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Words, and lines of a dozen words, in NumPy 2 also without a limit of their length."""
    short_names = (name.rpartition(".")[2] for name in operator.names)
    name = next(name for name in short_names if name in USES)
    use, word, dozen = USES[name], "a word each", "a dozen words each"
    short, long = (fixed(*line(size), fill=text(n, use.form)) for n in (1, DOZEN))
    yield rows(operator, use, replace(short, dtype="<U16"), word)
    if name in SHORT:
        long, dozen = short, word
    else:
        yield rows(operator, use, replace(long, dtype="<U128"), dozen)
    if "strings" in operator.namespaces and not LIMITED.intersection(operator.names):
        yield rows(operator, use, replace(long, dtype="T"), f"{dozen}, of any length")


@FAMILIES.add(*spellings("decode"))
def decode(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Bytes of words, as a file has them."""
    yield {"a": fixed(*line(size), fill=text(), dtype="S16"), "encoding": "utf-8"}
