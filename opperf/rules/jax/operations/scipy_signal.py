"""JAX's signal processing, cosine transforms, integrals, and statistics of samples."""

from __future__ import annotations

from opperf.operations.uses import ANYTHING, Table, use

SIGNALS = "x=in1 y=in2 mode -method"

TABLE: Table = {
    "scipy.fft.dct": use("cosine_transform", "x", axes=(-1,)),
    "scipy.fft.dctn": use("cosine_transform", "x axes"),
    "scipy.fft.idct": use("inverse_cosine_transform", "x", axes=(-1,)),
    "scipy.fft.idctn": use("inverse_cosine_transform", "x axes"),
    "scipy.integrate.trapezoid": use("trapezoid", "y x spacing=dx axis"),
    "scipy.signal.convolve": use("convolve", SIGNALS),
    "scipy.signal.correlate": use("correlate", SIGNALS),
    "scipy.signal.fftconvolve": use("convolve", SIGNALS),
    "scipy.stats.mode": use("mode", "x=a axis keepdims", lambda made, arguments: (made, ANYTHING)),
}
