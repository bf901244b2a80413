"""The registry as a list: made where the framework is, kept where it is not."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

import opperf
from opperf.errors import NoGradientError, OutputError, one_line
from opperf.frameworks import Framework, identity
from opperf.model import Case, Listed, Listing, Operator
from opperf.results.output import replace
from opperf.rules.engine import NoInputs, RulesModule, inputs_for, rules_module
from opperf.rules.sizes import PRESETS
from opperf.runner.prepared import Prepared
from opperf.runner.session import cache_folder

BASELINE = "float32"
"""What the rules are asked for when only their names are wanted."""


def listing_of(framework: Framework) -> Listing:
    """Every operator of a framework, with the rule that makes its inputs."""
    rules = rules_module(framework.rules)
    return Listing(
        framework=framework.name,
        version=framework.version(),
        registered=framework.registered(),
        operators=tuple(_listed(operator, rules) for operator in framework.operators()),
    )


def _listed(operator: Operator, rules: RulesModule) -> Listed:
    made = inputs_for(operator, rules, PRESETS["small"], BASELINE)
    if isinstance(made, NoInputs):
        return Listed(operator=operator, reason=made.reason)
    return Listed(operator=operator, rule=made[0].origin)


def script(framework: Framework, case: Case) -> str:
    """A case in the framework's own terms; its backward pass only if there is one."""
    try:
        with framework.scope(case):
            prepared = Prepared(case, framework)
            shown, note = case, ""
            if "backward" in case.passes:
                try:
                    framework.gradient(case, prepared.call, prepared.differentiated)
                except NoGradientError as error:
                    shown = msgspec.structs.replace(case, passes=("forward",))
                    note = f"# no backward pass: {error}\n"
            return note + framework.source(shown, prepared.arguments, prepared.call)
    except Exception as error:
        reason = framework.refusal(error) or f"{type(error).__name__}: {error}"
        return f"# cannot be made here: {one_line(reason)}\n"


def kept_listing(name: str, ask: Callable[[], Listing]) -> tuple[Listing, list[str]]:
    """The listing of a framework from the user's cache, or else as `ask` gives it, which is then
    kept; and warnings about a cache that could not be used."""
    build = identity(name)
    if build is None:
        return ask(), []
    path = cache_folder() / "registry" / f"{name}-{_key(build)}.json"
    warnings = []
    try:
        return msgspec.json.decode(path.read_bytes(), type=Listing), []
    except FileNotFoundError:
        # Asked for the first time, as is every build once.
        pass
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        warnings.append(f"{path} cannot be read and is made again: {one_line(str(error))}")
    listing = ask()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, msgspec.json.encode(listing))
    except (OSError, OutputError) as error:
        warnings.append(f"the list of operators is not kept: {one_line(str(error))}")
    return listing, warnings


def _key(build: str) -> str:
    """What a listing depends on: the framework's build, and opperf's own rules."""
    package = Path(opperf.__file__).parent
    newest = max(
        entry.stat().st_mtime_ns
        for folder, _, _ in os.walk(package)
        for entry in os.scandir(folder)
        if entry.name.endswith(".py")
    )
    text = f"{build}; {package} {opperf.__version__} {newest}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]
