"""Cases of a recorded program's chains: each as one function, with one operator called after the
other and as the framework compiles it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opperf.errors import UnsupportedError
from opperf.frameworks import Framework
from opperf.model import EAGER, Case, Chain, Struct
from opperf.sources.varying import with_settings

BYTE_NS, CALL_NS = 0.1, 5e3
"""Times of a byte that is moved and of a call that is made, on most machines: for the order of
chains alone, before any is measured."""


class MadeChains(Struct, frozen=True):
    """The cases of chains, and why others have none."""

    cases: tuple[Case, ...]
    refused: dict[str, str] = {}
    """By the chain's name and id: chains of one name differ in what feeds their calls."""


def largest(chains: Iterable[Chain], number: int) -> list[Chain]:
    """Returns so many chains, those that would save most first."""

    def saved_ns(chain: Chain) -> float:
        calls = CALL_NS * (len(chain.calls) - 1)
        return chain.count * (BYTE_NS * chain.between_bytes + calls)

    return sorted(chains, key=saved_ns, reverse=True)[:number]


def chain_cases(framework: Framework, chains: Sequence[Chain], cases: Sequence[Case]) -> MadeChains:
    """Returns the cases of chains, each in the framework's eager mode and in the first one that
    compiles; `cases` are those of their calls, and of others."""
    known: dict[str, Case] = {}
    for case in cases:
        known.setdefault(case.call_id, case)
    made: list[Case] = []
    refused: dict[str, str] = {}
    for chain in chains:
        label = f"{chain.name} ({chain.id})"
        if any(call.call not in known for call in chain.calls):
            refused[label] = "the file lacks calls of this chain"
            continue
        try:
            eager = framework.recordings.chain_case(chain, known)
        except UnsupportedError as error:
            refused[label] = str(error)
            continue
        modes = (EAGER, *framework.modes.compiled[:1])
        made += (with_settings(eager, {"mode": mode}) for mode in modes)
    return MadeChains(tuple(made), refused)
