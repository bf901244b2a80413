"""The command `frameworks`, and the line that reports which framework a command uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from tabulate import tabulate

from opperf.errors import FrameworkError
from opperf.frameworks import PREFERENCE, available, package_of, preferred
from opperf.frameworks.installed import is_installed, package_version


class FrameworkRow(msgspec.Struct, frozen=True):
    """A known framework, described without importing it."""

    name: str
    installed: bool
    version: str
    """Empty if unknown."""
    offers: str
    """What of it can be measured, in short."""
    advice: str
    """What to do before it can be measured; empty if nothing."""


HEADERS = ("Framework", "Version", "Offers", "To do")


def frameworks_command(options: Mapping[str, Any]) -> int:
    """Prints the known frameworks as a table or JSON, and returns the exit code."""
    found = [describe_framework(name) for name in sorted(available())]
    if options["json"]:
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        print(tabulate(map(table_row, found), HEADERS, disable_numparse=True))
        print(f"\nDefault framework: {preferred()}")
    return 0


def describe_framework(name: str) -> FrameworkRow:
    """Returns the row of a known framework."""
    try:
        package = package_of(name)
    except FrameworkError as error:
        return FrameworkRow(name, installed=False, version="", offers="", advice=str(error))
    if package is None:
        return FrameworkRow(name, installed=True, version="", offers="", advice="")
    if not is_installed(package.name):
        return FrameworkRow(name, False, "", package.offers, package.install_advice())
    version = package_version(package.name)
    return FrameworkRow(name, True, version, package.offers, package.obstacle())


def table_row(one: FrameworkRow) -> tuple[str, str, str, str]:
    """Returns a framework's cells of the table."""
    version = (one.version or "unknown") if one.installed else "not installed"
    return one.name, version, one.offers, one.advice


def report_choice(name: str, changed: Mapping[str, Any], say: Callable[[str], None]) -> None:
    """Prints which framework is used, unless the user named it."""
    if "framework" in changed:
        return
    package = package_of(name)
    shown = name
    # The version of another interpreter's framework is not known here.
    if package is not None and "python" not in changed:
        shown = f"{name} {package_version(package.name)}"
    say(
        f"framework: {shown}, the first installed of {', '.join(PREFERENCE)}; "
        "choose another with --framework"
    )
