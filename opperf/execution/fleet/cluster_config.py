"""A configuration of Ray's cluster launcher, `ray up`, from the nodes of a suite's system."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from opperf.errors import UsageError, suggest
from opperf.model import Struct

PORT = 6379
"""Ray's own, where the main node has none."""

SSH_PORT = 22

ANSWER_S = 3.0
"""Seconds within which a machine of one's own network answers."""

REQUIRED = ("name", "ip", "user")


class SystemNode(Struct, frozen=True):
    """A node of a system."""

    name: str
    ip: str
    user: str
    port: int = PORT
    """Of the main node, where the others find it."""
    main: bool = False


class Cluster(NamedTuple):
    """A cluster to start."""

    config: dict[str, Any]
    """For `ray up`."""
    by_hand: tuple[str, ...]
    """Commands that start the nodes of another user than the main node's, which Ray's launcher does
    not log in as."""


def read_nodes(system: Mapping[str, Any], file: str) -> tuple[SystemNode, ...]:
    """Returns the nodes of a system, the main one first. Raises `UsageError`, with the file and the
    path of keys, for what is no list of nodes."""
    listed = system.get("nodes")
    if not isinstance(listed, list) or not listed:
        raise UsageError(f"{file}: system.nodes: a list of nodes with name, ip and user is needed")
    nodes = [_read_node(entry, f"{file}: system.nodes[{i}]") for i, entry in enumerate(listed)]
    for key in ("name", "ip"):
        seen: set[str] = set()
        for i, node in enumerate(nodes):
            if (value := getattr(node, key)) in seen:
                raise UsageError(f"{file}: system.nodes[{i}].{key}: {value} is another node's, too")
            seen.add(value)
    mains = [node for node in nodes if node.main]
    if len(mains) > 1:
        both = " and ".join(node.name for node in mains)
        raise UsageError(f"{file}: system.nodes: {both} are both main; only one node can be")
    main = mains[0] if mains else nodes[0]
    return (main, *(node for node in nodes if node is not main))


def _read_node(entry: object, where: str) -> SystemNode:
    if not isinstance(entry, dict):
        raise UsageError(f"{where}: {entry!r} is no node; write name, ip and user")
    known = SystemNode.__struct_fields__
    for key in entry:
        if near := suggest(str(key), known) if key not in known else "":
            raise UsageError(f"{where}.{key}: unknown key{near}")
    for key in REQUIRED:
        if not isinstance(entry.get(key), str) or not entry[key]:
            raise UsageError(f"{where}.{key}: a node needs a {key}")
    port, main = entry.get("port", PORT), entry.get("main", False)
    if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 2**16:
        raise UsageError(f"{where}.port: {port!r} is no port")
    if not isinstance(main, bool):
        raise UsageError(f"{where}.main: {main!r} is neither true nor false")
    return SystemNode(entry["name"], entry["ip"], entry["user"], port, main)


def read_key(system: Mapping[str, Any], file: str) -> str:
    """Returns the path of the SSH key; empty without one. Raises `UsageError` if it may not be
    read, or others may read it, which SSH refuses."""
    text = system.get("sshkey")
    if text is None:
        return ""
    if not isinstance(text, str):
        raise UsageError(f"{file}: system.sshkey: {text!r} is no path")
    path = Path(text).expanduser()
    try:
        with path.open("rb"):
            mode = path.stat().st_mode
    except OSError as error:
        raise UsageError(
            f"{file}: system.sshkey: {text} cannot be read ({error.strerror}); name a key that you "
            "may read"
        ) from error
    if mode & 0o077:
        quoted = shlex.quote(text)
        raise UsageError(
            f"{file}: system.sshkey: SSH refuses {text}, as others may read it: chmod 600 {quoted}"
        )
    return text


def make_cluster(
    nodes: Sequence[SystemNode], key: str = "", setup: Sequence[str] = (), name: str = "opperf"
) -> Cluster:
    """Returns the configuration of a cluster of nodes, of which the first is the main one. `setup`
    are commands that each node runs before it starts."""
    main, *others = nodes
    workers = [node for node in others if node.user == main.user]
    auth = {"ssh_user": main.user, **({"ssh_private_key": key} if key else {})}
    bootstrap = "--autoscaling-config=~/ray_bootstrap_config.yaml"
    config = {
        "cluster_name": name,
        "provider": {
            "type": "local",
            "head_ip": main.ip,
            "worker_ips": [node.ip for node in workers],
        },
        "auth": auth,
        "min_workers": len(workers),
        "max_workers": len(workers),
        "setup_commands": list(setup),
        "head_start_ray_commands": ["ray stop", f"ray start --head --port={main.port} {bootstrap}"],
        "worker_start_ray_commands": ["ray stop", f"ray start --address=$RAY_HEAD_IP:{main.port}"],
    }
    identity = f"-i {shlex.quote(key)} " if key else ""
    started = " && ".join([*setup, f"ray start --address={main.ip}:{main.port}"])
    by_hand = (
        f"ssh {identity}{node.user}@{node.ip} {shlex.quote(started)}"
        for node in others
        if node.user != main.user
    )
    return Cluster(config, tuple(by_hand))


Connect = Callable[[tuple[str, int], float], socket.socket]


def find_unreachable(
    nodes: Sequence[SystemNode], connect: Connect = socket.create_connection
) -> tuple[str, ...]:
    """Returns a line for each node that SSH cannot reach."""
    found = []
    for node in nodes:
        try:
            connect((node.ip, SSH_PORT), ANSWER_S).close()
        except OSError as error:
            why = error.strerror or str(error) or type(error).__name__
            found.append(f"node {node.name}: {node.ip} does not answer at port {SSH_PORT} ({why})")
    return tuple(found)
