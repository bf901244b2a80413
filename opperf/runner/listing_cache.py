"""Caches the listing of a framework's registry, so that `list` need not load the framework."""

from __future__ import annotations

from collections.abc import Callable

from opperf.model import Listing
from opperf.runner.cache import cache_file, load, store


def load_listing(name: str, ask: Callable[[], Listing]) -> tuple[Listing, list[str]]:
    """Returns the listing of a framework from the user's cache, or else from `ask`, and caches it;
    and warnings about a cache that could not be used."""
    path = cache_file("registry", name)
    listing, warnings = load(path, Listing)
    if listing is None:
        listing = ask()
        warnings += store(path, listing, "the list of operators")
    return listing, warnings
