"""The arms of `--among`: implementations by framework, namespace and mode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from opperf.comparison.ab.arms import MOST_ARMS, ArmSpec
from opperf.errors import FrameworkError, UsageError, suggest, unknown
from opperf.frameworks import PREFERENCE, available, is_available, package_of
from opperf.requests.declaring import Say


class Arms(NamedTuple):
    """The arms that can be started, in their order, and why others cannot."""

    specs: dict[str, ArmSpec]
    absent: dict[str, str]


def read_arms(words: Iterable[str], interpreters: Mapping[str, str], say: Say) -> Arms:
    """Returns the arms of words `FRAMEWORK[.NAMESPACE][:MODE]`, by default the installed
    frameworks. Raises `UsageError` for an unknown framework, an arm that is named twice, and for
    too many."""
    listed = tuple(words) or tuple(
        name for name in PREFERENCE if is_available(name) or name in interpreters
    )
    specs: dict[str, ArmSpec] = {}
    absent: dict[str, str] = {}
    for word in listed:
        arm = _arm(word, interpreters)
        if word in {*specs, *absent}:
            raise UsageError(f"--among: {word} is named twice; name each arm once")
        same = next((name for name, own in specs.items() if _key(own) == _key(arm)), "")
        if same:
            raise UsageError(f"--among: {word} is the same as {same}; name it once")
        lacking = "" if arm.python or is_available(arm.framework) else _advice(arm.framework)
        if lacking:
            absent[word] = lacking
            say(f"absent: {word}: {lacking}")
        else:
            specs[word] = arm
    if len(specs) > MOST_ARMS:
        raise UsageError(f"--among names {len(specs)} arms; a session has {MOST_ARMS} at most")
    for name in interpreters:
        if name not in {*listed, *(arm.framework for arm in specs.values())}:
            raise UsageError(
                f"--python {name}=...: no arm is called so{suggest(name, listed)}; the arms are "
                f"{', '.join(listed)}"
            )
    return Arms(specs, absent)


def _arm(word: str, interpreters: Mapping[str, str]) -> ArmSpec:
    place, colon, mode = word.partition(":")
    framework, dot, namespace = place.partition(".")
    if framework not in available():
        raise unknown("framework", framework, sorted(available()))
    if (colon and not mode) or (dot and not namespace):
        raise UsageError(f"--among {word}: write it as FRAMEWORK[.NAMESPACE][:MODE]")
    return ArmSpec(
        name=word,
        python=interpreters.get(word, interpreters.get(framework, "")),
        settings={"mode": mode} if mode else {},
        framework=framework,
        namespace=namespace,
    )


def _key(arm: ArmSpec) -> tuple[str, ...]:
    return arm.framework, arm.namespace, arm.settings.get("mode", ""), arm.python


def _advice(framework: str) -> str:
    try:
        package = package_of(framework)
    except FrameworkError as error:
        return str(error)
    advice = "" if package is None else f"; install it with: {package.install_advice()}"
    return f"{framework} is not installed{advice}"


def check_arms(specs: Mapping[str, ArmSpec], absent: Mapping[str, str], least: int = 2) -> None:
    """Raises `UsageError` for fewer than two arms, or than as many as are needed."""
    if len(specs) >= least:
        return
    reasons = "".join(f"; {name}: {why}" for name, why in absent.items())
    left = next(iter(specs), "")
    raise UsageError(
        f"{f'only {left} is' if left else 'no arm is'} left to compare: name two implementations "
        f"with --among{reasons}"
    )
