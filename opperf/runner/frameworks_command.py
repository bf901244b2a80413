"""What the command `frameworks` does, and what the others say of a framework nobody named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from tabulate import tabulate

from opperf.errors import FrameworkError
from opperf.frameworks import PREFERENCE, available, package_of, preferred
from opperf.frameworks.installed import is_installed, package_version


class FrameworkRow(msgspec.Struct, frozen=True):
    """A framework that opperf knows, as it is found without being imported."""

    name: str
    installed: bool
    version: str
    """Empty where it is not known."""
    offers: str
    """What of it can be measured, in short."""
    advice: str
    """What to do before it can be measured; empty if nothing."""


HEADERS = ("Framework", "Version", "Offers", "To do")


def frameworks_command(options: Mapping[str, Any]) -> int:
    """Print the frameworks that opperf knows, as a table or as JSON."""
    found = [describe_framework(name) for name in sorted(available())]
    if options["json"]:
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        print(tabulate(map(table_row, found), HEADERS, disable_numparse=True))
        print(f"\nWithout --framework: {preferred()}")
    return 0


def describe_framework(name: str) -> FrameworkRow:
    """What there is to say of a known framework."""
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
    """A framework's line of the table."""
    version = (one.version or "unknown") if one.installed else "not installed"
    return one.name, version, one.offers, one.advice


def report_choice(
    name: str, changed: Mapping[str, Any], say: Callable[[str], None], elsewhere: bool = False
) -> None:
    """Say which framework is meant, unless it is among the options that the user gave; its version
    too, unless it is measured `elsewhere`, in another interpreter."""
    if "framework" in changed:
        return
    package = package_of(name)
    shown = name
    # Another interpreter's version is not the one that is known here.
    if package is not None and not (elsewhere or "python" in changed):
        shown = f"{name} {package_version(package.name)}"
    say(
        f"framework: {shown}, the first installed of {', '.join(PREFERENCE)}; "
        "--framework names another"
    )
