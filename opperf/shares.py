"""Shares of a value, which are written `5%` or 0.05."""

from __future__ import annotations

import math


def read_share(value: object) -> float:
    """Returns the share of `"5%"`, `"0.05"` or 0.05. Raises `ValueError` beyond 0 to 1."""
    number, percent, rest = str(value).partition("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = math.nan
    if isinstance(value, bool) or rest.strip() or not 0 < share < 1:
        raise ValueError(f"{value!r} is not a share between 0 and 1; write 5% or 0.05")
    return share


def detectable_text(share: float) -> str:
    """Returns the smallest change that measurements could have shown, a share, in percent; of more
    than as much again no digit matters."""
    return f"{share:.1%}" if share <= 1 else "over 100%"


def share_text(share: float) -> str:
    """Returns a share in percent: `0.5%`."""
    return f"{100 * share:.6g}%"
