"""Ports of this machine."""

from __future__ import annotations

import socket

HOST = "127.0.0.1"
"""This machine's own address."""


def free_port(address: str = HOST) -> int:
    """Returns a port of an address of this machine that nothing listens on."""
    with socket.socket() as listening:
        listening.bind((address, 0))
        return int(listening.getsockname()[1])
