"""Environments made by hand."""

from opperf.model import Environment


def make_environment(framework="torch", **facts):
    """The environment of a machine of two cores, but for some facts."""
    usual = {
        "opperf": "0.1.0",
        "versions": {framework: "1.2.3"},
        "features": {},
        "python": "3.11.7",
        "platform": "Linux",
        "hostname": "host",
        "cpu": "A CPU",
        "cores": 2,
        "threads": {},
        "memory_bytes": 2**33,
        "load_1min": 0.5,
        "governor": "performance",
        "devices": ("cpu(0)",),
    }
    return Environment(framework=framework, **(usual | facts))
