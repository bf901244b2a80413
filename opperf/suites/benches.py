"""Benches from their entries, of which nothing is left to merge, expand or refer to."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple, get_args

from opperf.environments.specification import EnvironmentSpec
from opperf.errors import UsageError, suggest
from opperf.suites.bench import (
    Bench,
    Definition,
    Location,
    Method,
    Plan,
    Usage,
    Voir,
    read_definition,
)
from opperf.suites.expressions import check
from opperf.suites.fields import (
    address_values,
    arguments_of,
    check_keys,
    check_spelling,
    count,
    flag,
    inner,
    integer,
    mapping,
    number,
    plain,
    read,
    read_server,
    seconds,
    share,
    text,
    texts,
    words_of,
    wrong,
)
from opperf.suites.inheriting import tags_of
from opperf.suites.matrices import Point
from opperf.suites.placeholders import FOLDERS, Placeholders, bench_values, machine_values
from opperf.suites.reading import Node, kind_of, locations
from opperf.suites.sizing import Sizer

DEFINITION = "definition"

FILES = ("configuration", "recording", "trace", "snippets")
"""Keys of benches that are files, whose paths are relative to the file that names them."""

WORKLOADS = (DEFINITION, "operators", *FILES, "model")
"""Keys that say what a bench runs, of which it has one."""

VARIANT = "install_variant"

USED = (
    *WORKLOADS,
    *("group", "install_group", "enabled", "tags", "weight", "num_machines"),
    *("requires_capabilities", "max_duration", "plan", "argv", "voir", "validation", "env"),
    *("dirs", "observe", "settings", "client", "server"),
)
"""Keys whose values are fields of a bench."""

KEYS = (
    *USED,
    *("inherits", VARIANT, "matrix", "job", "exclude", "zip"),
    *("url", "name", "config_base", "config_file"),
)
"""Keys of a bench; others are a program's own."""

ENV = {"packages": "requirements", "requirements": "requirements", "python": "python"}
INDEXES = ("index", "indexes", "index_url", "index_urls", "extra_index_url")
ENV_KEYS = (*ENV, *INDEXES, "variables")

VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
"""An environment variable beside the keys of `env`, as milabench has them."""


class Made(NamedTuple):
    """A bench, and what is wrong with it on this machine."""

    bench: Bench
    problem: str = ""


def make_bench(
    name: str, node: Node, sizer: Sizer, templates: tuple[str, ...], point: Point, matrix: str
) -> Made:
    """Returns the bench of an entry on a system. Raises `UsageError`, with the place, for what it
    cannot be."""
    system, entries = sizer.system, mapping(node)
    check_spelling(entries, KEYS)
    key = _workload(name, node, entries)
    group = read(entries, "group", text, name)
    install_group = read(entries, "install_group", text, group)
    definition = _definition(entries[key]) if key == DEFINITION else None
    code = definition.folder if definition else str(folder_of(node.at))
    dirs = {part: text(element) for part, element in inner(entries, "dirs").items()}
    check_keys(inner(entries, "dirs"), FOLDERS)
    own = bench_values(system, name, code, install_group, group, dirs)
    known = {**machine_values(system), **own, **address_values(entries)}
    placeholders = Placeholders(known, system, partial(sizer.size, name))
    replace = placeholders.replace
    # First: without it, words that have its address are wrong.
    server = read_server(entries, replace)
    _check_kind(entries, key)
    return Made(
        Bench(
            name=name,
            workload="script" if definition else key,  # type: ignore[arg-type]
            content=(definition.path,) if definition else _content(key, entries[key], replace),
            group=group,
            tags=_tags(entries.get("tags")),
            enabled=read(entries, "enabled", flag, True),
            weight=read(entries, "weight", number, 1.0),
            argv=words_of(entries.get("argv"), replace),
            client_argv=words_of(arguments_of(entries, "client"), replace),
            server_argv=words_of(arguments_of(entries, "server"), replace),
            server=server,
            plan=_plan(entries.get("plan")),
            num_machines=read(entries, "num_machines", count, 1),
            max_duration_s=read(entries, "max_duration", seconds, None),
            requires_capabilities=_capabilities(entries.get("requires_capabilities")),
            env=_env(entries.get("env"), install_group, replace),
            dirs=dirs,
            voir=_voir(entries.get("voir")),
            usage=_usage(entries.get("validation")),
            observe=read(entries, "observe", texts, ()),
            settings=_settings(entries.get("settings"), replace),
            # Of the values above, in which placeholders are replaced by now.
            sizes=placeholders.sizes,
            point=dict(point.values),
            matrix=matrix,
            templates=templates,
            locations=dict(locations(node)),
            benchfile=definition.benchfile if definition else {},
            others=({VARIANT: system.arch} if definition else {}) | plain(entries, USED),
        ),
        definition.problem if definition else _missing(key, entries[key]),
    )


def has_nothing(node: Node) -> bool:
    """Returns whether an entry is not enabled and has nothing to run: it is for a file that is
    included elsewhere."""
    entries = node.entries()
    is_off = "enabled" in entries and entries["enabled"].content is False
    return is_off and all(key not in entries or entries[key].content is None for key in WORKLOADS)


def folder_of(at: Location) -> Path:
    """Returns the folder of the file that a value is from; this one for the command line."""
    return Path(at.file).absolute().parent if at.line else Path.cwd()


def _workload(name: str, node: Node, entries: Mapping[str, Node]) -> str:
    found = [key for key in WORKLOADS if key in entries and entries[key].content is not None]
    if not found:
        *words, last = WORKLOADS
        either = f"{', '.join(words)} or {last}"
        raise UsageError(f"{node.at}: {name} has nothing to run; give it {either}")
    if len(found) > 1:
        places = " and ".join(f"{key} ({entries[key].at})" for key in found)
        raise UsageError(f"{node.at}: {name} has {places}; a bench has one of them")
    return found[0]


def _check_kind(entries: Mapping[str, Node], workload: str) -> None:
    if workload == DEFINITION:
        if "settings" in entries:
            raise UsageError(
                f"{entries['settings'].at}: settings are of benches that are no script; give a "
                "script its arguments (argv)"
            )
        return
    for key in ("argv", "client", "server", "observe"):
        if key in entries and entries[key].content is not None:
            raise UsageError(
                f"{entries[key].at}: {key} is of scripts (definition), and this bench is of "
                f"{workload}; its options are settings"
            )


def _definition(node: Node) -> Definition:
    url = node.entries().get("git")
    if url is not None:
        return Definition(
            text(url), text(url), {}, f"{text(url)}: clone it, and name its folder instead"
        )
    return read_definition(Path(_path(node)))


def _path(node: Node) -> str:
    if not isinstance(node.content, str) or not node.content:
        raise wrong(node, "a path")
    path = os.path.expanduser(node.content)  # noqa: PTH111, as `~unknown` is no error
    # Without links resolved: a folder may be one, and its parent then another.
    return os.path.normpath(folder_of(node.at) / path)


def _content(key: str, node: Node, replace: Callable[[str, Location], str]) -> tuple[str, ...]:
    listed = node.listed()
    if not listed:
        raise wrong(node, f"a value or several of {key}")
    words = [Node(replace(text(element), element.at), element.at) for element in listed]
    if key in FILES:
        return tuple(map(_path, words))
    return tuple(_model(word) if key == "model" else word.content for word in words)


def _model(node: Node) -> str:
    """Returns the word of a model, with its file's path if it is of one."""
    word: str = node.content
    file, colon, name = word.partition(".py:")
    return f"{_path(Node(f'{file}.py', node.at))}:{name}" if colon else word


def _missing(key: str, node: Node) -> str:
    if key not in FILES:
        return ""
    listed = node.listed()
    paths = [_path(element) for element in listed if "{" not in str(element.content)]
    return next((f"{path}: no such file" for path in paths if not Path(path).exists()), "")


def _tags(node: Node | None) -> tuple[str, ...]:
    return () if node is None else tuple(sorted(element.content for element in tags_of(node)))


def _plan(node: Node | None) -> Plan:
    if node is None or node.content is None:
        return Plan()
    if isinstance(node.content, str):
        return Plan(_method(node))
    entries = mapping(node)
    check_keys(entries, ("method", "n"))
    method = _method(entries["method"]) if "method" in entries else Plan().method
    if method != "njobs" and "n" in entries and entries["n"].content not in (None, 1):
        raise UsageError(f"{entries['n'].at}: {method} has a process for each; n is of njobs")
    return Plan(method, read(entries, "n", count, 1))


def _method(node: Node) -> Method:
    known = get_args(Method)
    if node.content not in known:
        raise UsageError(
            f"{node.at}: unknown plan {node.content!r}{suggest(str(node.content), known)}; known: "
            f"{', '.join(known)}"
        )
    method: Method = node.content
    return method


def _capabilities(node: Node | None) -> tuple[str, ...]:
    if node is None:
        return ()
    found = texts(node)
    for expression in found:
        try:
            check(expression)
        except UsageError as error:
            raise UsageError(f"{node.at}: {error}") from error
    return found


def _env(node: Node | None, name: str, replace: Callable[[str, Location], str]) -> EnvironmentSpec:
    entries = {} if node is None else mapping(node)
    variables: dict[str, str] = {}
    own: dict[str, Node] = {}
    for key, element in entries.items():
        if key not in ENV_KEYS and VARIABLE.fullmatch(key):
            variables[key] = replace(_variable(element), element.at)
        else:
            own[key] = element
    check_keys(own, ENV_KEYS)
    for key, element in inner(own, "variables").items():
        variables[key] = replace(_variable(element), element.at)
    requirements = [
        requirement
        for key, field in ENV.items()
        if field == "requirements" and key in own
        for requirement in texts(own[key])
    ]
    return EnvironmentSpec(
        name=name,
        requirements=tuple(requirements),
        python=read(own, "python", text, ""),
        index_urls=tuple(url for key in INDEXES if key in own for url in texts(own[key])),
        variables=variables,
    )


def _variable(node: Node) -> str:
    if isinstance(node.content, bool):
        # As text, it would be Python's word, and programs ask for a number.
        return str(int(node.content))
    return text(node)


VOIR = ("stop", "interval", "skip", "gpu_poll")


def _voir(node: Node | None) -> Voir:
    top = {} if node is None else mapping(node)
    check_spelling(top, ("options",))
    options = inner(top, "options")
    check_spelling(options, VOIR)
    # The machine is sampled as often as its GPUs are polled, if the file says that.
    interval = options.get("gpu_poll", options.get("interval"))
    return Voir(
        stop=read(options, "stop", count, Voir().stop),
        interval_s=(interval and seconds(interval)) or Voir().interval_s,
        skip=read(options, "skip", integer, 0),
        others=plain(options, ("stop", "interval", "skip")),
    )


def _usage(node: Node | None) -> Usage:
    validation = {} if node is None else mapping(node)
    check_spelling(validation, ("usage",))
    usage = inner(validation, "usage")
    check_keys(usage, ("gpu_load_threshold", "gpu_mem_threshold"))
    return Usage(
        load=read(usage, "gpu_load_threshold", share, None),
        memory=read(usage, "gpu_mem_threshold", share, None),
    )


AS_TEXT = {True: "true", False: "false", None: "None"}
"""How a command line writes what is neither text nor a number."""


def _settings(
    node: Node | None, replace: Callable[[str, Location], str]
) -> dict[str, tuple[str, ...]]:
    found = {}
    for key, element in ({} if node is None else mapping(node)).items():
        listed = element.listed()
        if not listed:
            raise UsageError(f"{element.at}: it has no values")
        found[key] = tuple(replace(_setting(value), value.at) for value in listed)
    return found


def _setting(node: Node) -> str:
    content = node.content
    if isinstance(content, (dict, list)):
        raise UsageError(f"{node.at}: a setting has words or numbers, and this is {kind_of(node)}")
    return AS_TEXT[content] if content is None or isinstance(content, bool) else str(content)
