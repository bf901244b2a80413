"""The tables of networks in the documentation."""

from __future__ import annotations

from collections.abc import Iterator

from opperf.models.base import SIZES
from opperf.models.networks import CLASSES, CLICKS, NETWORKS, PIXELS, Extents, Network

LOSSES = {
    CLASSES: "cross entropy",
    PIXELS: "cross entropy of pixels",
    CLICKS: "binary cross entropy",
}

OPTIMIZERS = {"sgd": "SGD", "adam": "Adam"}


def parameters(network: Network, extents: Extents) -> int:
    """The number of parameters that training updates by gradients."""
    arrays = network.weights(extents).items()
    return sum(array.size for name, array in arrays if ".running_" not in name)


def rows() -> Iterator[str]:
    """The rows of the table of networks, and of that of their sizes."""
    for name, network in NETWORKS.items():
        made = network.optimizer
        momentum = f", momentum {made.momentum:g}" if made.momentum else ""
        optimizer = f"{OPTIMIZERS[made.name]}, rate {made.rate:g}{momentum}"
        yield f"| `{name}` | {network.why} | {LOSSES[network.loss]} | {optimizer} |"
    for name, network in NETWORKS.items():
        extents = [network.sizes[size] for size in SIZES]
        names = ", ".join(extents[0])
        values = (", ".join(map(str, each.values())) for each in extents)
        counts = " / ".join(f"{parameters(network, each) / 1e6:.1f}" for each in extents)
        yield f"| `{name}` | {names} | {' | '.join(values)} | {counts} |"
