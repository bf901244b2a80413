"""Finds the known names that a word may mean: in another case, as a part of a name, or misspelt."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
"""A part of a name: of `broadcast_add`, `BatchNorm`, `conv2d` or `nd.add`."""

MIN_BEGINNING, MIN_INSIDE = 3, 4
"""Fewest characters of a word that is looked for at the beginning of parts, and anywhere: fewer are
in too many names."""

MAX_SHARED = 0.1
"""Largest share of the names that may have a part of a word for it to say something: of
`jnp.trapz`, `jnp` is in most names of JAX."""

FEW = 20
"""Number of names that may have a part however few there are."""

CLOSE, FAR = 0.85, 0.66
"""Similarities, by `difflib`, of a word with a letter missing (`batch_nrm`) and of a short one with
two letters exchanged (`lsh` and `lhs`)."""


class Name(NamedTuple):
    """A name in the forms that are compared."""

    text: str
    joined: str
    """Its parts in lower case, without separators."""
    parted: str
    """Its parts in lower case, each between underscores."""

    @property
    def is_internal(self) -> bool:
        """Whether it begins as private names of Python do."""
        return self.text.rpartition(".")[2].startswith("_")


def parse(text: str) -> Name:
    """Returns a name's forms."""
    parts = [part.lower() for part in PART.findall(text)]
    return Name(text, "".join(parts), f"_{'_'.join(parts)}_")


MATCHES: tuple[Callable[[Name, Name], bool], ...] = (
    lambda word, name: name.joined == word.joined,
    lambda word, name: name.parted.endswith(word.parted),
    lambda word, name: word.parted in name.parted,
    lambda word, name: name.joined.startswith(word.joined),
    lambda word, name: (
        len(word.joined) >= MIN_BEGINNING and word.parted.removesuffix("_") in name.parted
    ),
    lambda word, name: len(word.joined) >= MIN_INSIDE and word.joined in name.joined,
)
"""Ways in which a word is in a name, the best first: as all of it, as its end, as a part, as its
beginning, as the beginning of a part, anywhere."""


def nearest(word: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Returns the known names that a word may mean, the likeliest first: those that have it, else
    those that it misspells, else those that have one of its parts."""
    names = [parse(name) for name in dict.fromkeys(known)]
    asked = parse(word)
    if not asked.joined:
        return []
    parts = [parse(part) for part in sorted(PART.findall(word), key=len, reverse=True)]
    of_parts = (
        having
        for part in parts
        if len(part.joined) >= MIN_BEGINNING
        and len(having := _having(part, names)) <= max(FEW, MAX_SHARED * len(names))
    )
    found = (
        _having(asked, names)
        or _similar(asked, names, CLOSE)
        or next(filter(None, of_parts), [])
        or _similar(asked, names, FAR)
    )
    public = [name for name in found if not name.is_internal or asked.is_internal]
    return [name.text for name in (public or found)[:limit]]


def _having(word: Name, names: Iterable[Name]) -> list[Name]:
    ranked = []
    for name in names:
        rank = next((i for i, matches in enumerate(MATCHES) if matches(word, name)), None)
        if rank is not None:
            ranked.append((rank, len(name.text), name))
    return [name for *_, name in sorted(ranked)]


def _similar(word: Name, names: Iterable[Name], least: float) -> list[Name]:
    matcher = difflib.SequenceMatcher(b=word.joined, autojunk=False)
    ranked = []
    for name in names:
        matcher.set_seq1(name.joined)
        # The first is an upper limit of the other, and quick.
        if matcher.quick_ratio() >= least and matcher.ratio() >= least:
            ranked.append((-matcher.ratio(), name))
    return [name for _, name in sorted(ranked)]
