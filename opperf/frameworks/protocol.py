"""The protocol of a framework: the required core, and the capabilities that it may have.

One module or package per framework implements `Framework`. It inherits `Defaults`, which has a
default for each capability, and overrides those that it supports.
"""

from __future__ import annotations

from typing import Protocol

from opperf.frameworks.base import Core
from opperf.frameworks.building import Building
from opperf.frameworks.capabilities import (
    Arrays,
    Caches,
    Compilers,
    Devices,
    Events,
    Forks,
    Gradients,
    LargeTensors,
    Memory,
    Modes,
    Naming,
    Objects,
    Options,
    Processes,
    Profilers,
    RandomNumbers,
    Repetition,
    Restoring,
    Scripts,
    ShapeInference,
    Steps,
    Threads,
    Traces,
)


class Framework(
    Core,
    Naming,
    Objects,
    RandomNumbers,
    Devices,
    Arrays,
    LargeTensors,
    Gradients,
    ShapeInference,
    Steps,
    Profilers,
    Traces,
    Events,
    Caches,
    Memory,
    Modes,
    Compilers,
    Building,
    Options,
    Threads,
    Forks,
    Repetition,
    Restoring,
    Processes,
    Scripts,
    Protocol,
):
    """A framework whose operators can be measured."""
