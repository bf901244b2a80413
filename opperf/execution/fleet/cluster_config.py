"""A configuration of Ray's cluster launcher, `ray up`, from the nodes of a suite's system."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from opperf.errors import UsageError
from opperf.reading import open_file
from opperf.suites.system import System, SystemNode

PORT = 6379
"""Ray's own, where the main node has none."""

SSH_PORT = 22

ANSWER_S = 3.0
"""Seconds within which a machine of one's own network answers."""

OTHERS = 0o077
"""Bits of a file's mode for all but its owner."""


class Cluster(NamedTuple):
    """A cluster to start."""

    config: dict[str, Any]
    """For `ray up`."""
    by_hand: tuple[str, ...]
    """Commands that start the nodes of another user than the main node's, which Ray's launcher does
    not log in as."""


def main_first(nodes: Sequence[SystemNode], file: Path) -> tuple[SystemNode, ...]:
    """Returns the nodes, of which the first is the main one: that which says so, or the first of
    the file. Raises `UsageError` for two, for two of one address, and without any address."""
    if not any(node.ip for node in nodes):
        raise UsageError(f"{file}: it has no nodes; list them with name, ip and user")
    addresses = [node.ip for node in nodes]
    for address in addresses:
        if addresses.count(address) > 1:
            raise UsageError(f"{file}: two nodes have the address {address}")
    mains = [node for node in nodes if node.main]
    if len(mains) > 1:
        both = " and ".join(node.name for node in mains)
        raise UsageError(f"{file}: {both} are both main; only one node can be")
    main = mains[0] if mains else nodes[0]
    return (main, *(node for node in nodes if node is not main))


def check_key(text: str, file: Path) -> None:
    """Raises `UsageError` for an SSH key that may not be read, or that others may read, which SSH
    refuses; none is none to check."""
    if not text:
        return
    path = Path(text).expanduser()
    try:
        with open_file(path):
            mode = path.stat().st_mode
    except OSError as error:
        raise UsageError(
            f"{file}: sshkey: {text} cannot be read ({error.strerror}); name a key that you may "
            "read"
        ) from error
    if mode & OTHERS:
        raise UsageError(
            f"{file}: sshkey: SSH refuses {text}, as others may read it: chmod 600 "
            f"{shlex.quote(text)}"
        )


def make_cluster(system: System, file: Path, setup: Sequence[str] = ()) -> Cluster:
    """Returns the configuration of a cluster of a system's nodes. `setup` are commands that each
    node runs before it starts; `file` is that of the system, for errors. Raises as `main_first` and
    `check_key`."""
    main, *others = main_first(system.nodes, file)
    check_key(system.sshkey, file)
    port = main.port or PORT
    workers = [node for node in others if node.user == main.user]
    key = {"ssh_private_key": system.sshkey} if system.sshkey else {}
    bootstrap = "--autoscaling-config=~/ray_bootstrap_config.yaml"
    config = {
        "cluster_name": "opperf",
        "provider": {
            "type": "local",
            "head_ip": main.ip,
            "worker_ips": [node.ip for node in workers],
        },
        "auth": {"ssh_user": main.user, **key},
        "min_workers": len(workers),
        "max_workers": len(workers),
        "setup_commands": list(setup),
        "head_start_ray_commands": ["ray stop", f"ray start --head --port={port} {bootstrap}"],
        "worker_start_ray_commands": ["ray stop", f"ray start --address=$RAY_HEAD_IP:{port}"],
    }
    identity = f"-i {shlex.quote(system.sshkey)} " if system.sshkey else ""
    started = " && ".join([*setup, f"ray start --address={main.ip}:{port}"])
    by_hand = (
        f"ssh {identity}{node.user}@{node.ip} {shlex.quote(started)}"
        for node in others
        if node.user != main.user
    )
    return Cluster(config, tuple(by_hand))


def find_unreachable(nodes: Sequence[SystemNode]) -> tuple[str, ...]:
    """Returns a line for each node that SSH cannot reach."""
    found = []
    for node in nodes:
        try:
            socket.create_connection((node.ip, SSH_PORT), ANSWER_S).close()
        except OSError as error:
            why = error.strerror or str(error) or type(error).__name__
            found.append(f"node {node.name}: {node.ip} does not answer at port {SSH_PORT} ({why})")
    return tuple(found)
