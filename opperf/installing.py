"""How opperf is installed with an extra: from where this one came, as no package index has it."""

from __future__ import annotations

import json
import shlex
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

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
    """Returns what pip recorded of where it took opperf from (`direct_url.json`), if it did."""
    try:
        recorded = metadata.distribution(NAME).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return None
    if recorded is None:
        return None
    source: dict[str, Any] = json.loads(recorded)
    return source
