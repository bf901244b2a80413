"""Packages of opperf's extras: what needs one that is not here says how it is installed, from
where opperf itself came, as no package index has it."""

from __future__ import annotations

import importlib
import json
import shlex
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from opperf.errors import UsageError, one_line

NAME = "opperf"

CHECKOUT = Path(__file__).resolve().parents[1]
"""The folder of the package's sources, where it was not installed from elsewhere."""


def install_command(requirement: str) -> str:
    """Returns the command that installs a requirement; one of opperf with an extra, such as
    `opperf[plot]`, from where this opperf is from."""
    name, bracket, extra = requirement.partition("[")
    if name != NAME or not bracket:
        return f"pip install {shlex.quote(requirement)}"
    return f"pip install {_from_source(bracket + extra)}"


def _from_source(extra: str) -> str:
    source = _recorded_source()
    if source is None:
        # From an index, or from a folder of wheels, which pip does not record. pip takes the
        # installed opperf, and installs what the extra needs.
        is_checkout = (CHECKOUT / "pyproject.toml").exists()
        return shlex.quote(f"{CHECKOUT if is_checkout else NAME}{extra}")
    url = urlsplit(source["url"])
    if "vcs_info" in source:
        version_control = source["vcs_info"]
        revision = version_control.get("requested_revision") or version_control["commit_id"]
        at = f"{version_control['vcs']}+{source['url']}@{revision}"
        return shlex.quote(f"{NAME}{extra} @ {at}")
    if url.scheme != "file":
        return shlex.quote(f"{NAME}{extra} @ {source['url']}")
    path = unquote(url.path)
    if not Path(path).exists():
        return shlex.quote(f"{NAME}{extra}")
    editable = source.get("dir_info", {}).get("editable", False)
    quoted = shlex.quote(path + extra)
    return f"-e {quoted}" if editable else quoted


def _recorded_source() -> dict[str, Any] | None:
    try:
        recorded = metadata.distribution(NAME).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return None
    if recorded is None:
        return None
    source: dict[str, Any] = json.loads(recorded)
    return source


EXTRAS = {
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
