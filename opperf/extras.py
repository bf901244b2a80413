"""Packages of opperf's extras: what needs one that is not here says how it is installed."""

from __future__ import annotations

import importlib
from typing import Any

from opperf.errors import UsageError, one_line
from opperf.installing import NAME, install_command

EXTRAS = {
    "alembic": "history",
    "altair": "plot",
    "plotext": "plot",
    "psycopg": "postgresql",
    "pynvml": "gpu",
    "ray": "fleet",
    "sqlalchemy": "history",
    "starlette": "serve",
    "submitit": "slurm",
    "uvicorn": "serve",
    "vl_convert": "plot",
    "yaml": "yaml",
}
"""By module that code of opperf imports, the extra whose package has it."""


def install_extra(module: str) -> str:
    """Returns the command that installs a module of an extra."""
    return install_command(f"{NAME}[{EXTRAS[module]}]")


def load_extra(module: str, needed_by: str = "this", otherwise: str = "") -> Any:
    """Returns a module of an extra. Raises `UsageError` if it cannot be imported: what it is
    `needed_by`, how it is installed, and what to do `otherwise`."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise _missing(module, error, needed_by, otherwise) from error


def check_extras(needed_by: str, *modules: str) -> None:
    """Raises `UsageError` unless modules of extras can be imported."""
    for module in modules:
        load_extra(module, needed_by)


def missing_extra(error: ImportError) -> UsageError | None:
    """Returns what an import that failed says to a user; None for a module of no extra."""
    module = (error.name or "").partition(".")[0]
    return _missing(module, error, "this", "") if module in EXTRAS else None


def _missing(module: str, error: ImportError, needed_by: str, otherwise: str) -> UsageError:
    also = f", or {otherwise}" if otherwise else ""
    return UsageError(
        f"{needed_by} needs {module} ({one_line(str(error))}): {install_extra(module)}{also}"
    )
