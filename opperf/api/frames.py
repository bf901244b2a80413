"""Rows as a data frame of pandas, which opperf does not need for anything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from opperf.installing import install_command

DataFrame = Any
"""A `pandas.DataFrame`."""


def data_frame(rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Returns the rows as a data frame.

    Raises `ImportError` without pandas, with the command that installs it.
    """
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise ImportError(f"to_pandas needs pandas: {install_command('pandas')}") from error
    return pandas.DataFrame(list(rows))
