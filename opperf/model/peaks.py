"""The measured peaks of a device: the fastest that it moves bytes, multiplies matrices, and starts
a call."""

from __future__ import annotations

from typing import Literal

from opperf.model.declaring import Struct


class BandwidthPeak(Struct, frozen=True, kw_only=True):
    """The fastest that bytes are moved in one level of memory."""

    level: str
    """`L1d`, `L2`, `L3`, `memory`."""
    kernel: Literal["copy", "triad", "read"]
    """`copy`: one array is read and one written. `triad`: two are read and one written, of cores
    over one of the two. `read`: all is read."""
    threads: int
    """Number of cores that move at once; 0 of a GPU."""
    bytes: int
    """Largest number of bytes of all threads together that the level holds; 0 of memory."""
    rate: float
    """Bytes per second, those of all threads together."""
    by: str = ""
    """The framework that moved them, as `ProductPeak` has it; empty of cores."""


class ProductPeak(Struct, frozen=True, kw_only=True):
    """The fastest that square matrices are multiplied."""

    dtype: str
    threads: int
    """0 of a GPU."""
    rate: float
    """Floating-point operations per second, of which a multiplication and an addition are two."""
    by: str
    """The library that multiplied, and the matrices' extent: `numpy 1.26.4, 2048`."""


class DispatchPeak(Struct, frozen=True, kw_only=True):
    """The shortest time of a call of a framework's that computes next to nothing."""

    framework: str
    ns: float


class Peaks(Struct, frozen=True, kw_only=True):
    """The measured peaks of one device."""

    device: str
    """As a case's settings name it: `cpu(0)`, `gpu(0)`."""
    measured: str
    """Date and time, ISO 8601."""
    bandwidths: tuple[BandwidthPeak, ...] = ()
    products: tuple[ProductPeak, ...] = ()
    dispatches: tuple[DispatchPeak, ...] = ()
