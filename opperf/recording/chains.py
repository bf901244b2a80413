"""Chains of calls as a recording's file has them."""

from __future__ import annotations

from collections.abc import Mapping

from opperf.frameworks.calls import Site
from opperf.frameworks.flow import FoundChain
from opperf.model import CallSite, Case, Chain, ChainCall


def as_written(found: FoundChain, cases: Mapping[int, Case]) -> Chain:
    """Returns a chain with the ids of its calls. `cases` are those of recorded calls, by the
    identity of the call."""
    calls = tuple(
        ChainCall(
            call=cases[id(own.call)].call_id,
            name=cases[id(own.call)].label,
            kind=own.kind,
            feeds=dict(own.feeds),
            between_bytes=own.between_bytes,
        )
        for own in found.calls
    )
    first, last = found.sites[0]
    places = len(set(found.sites))
    return Chain(calls, len(found.sites), _site(first), _site(last), places)


def _site(site: Site) -> CallSite:
    return CallSite(**site._asdict())
