"""Inputs of the other functions of `jax.lax`: Fourier transforms, random bits, places of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opperf.model import Device, DType
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import network_maps
from opperf.rules.jax.properties import SPECTRUM
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import line, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import POSITIVE, REQUESTED, Arguments, between, call, fixed, tensor
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

NOT_BENCHMARKED = {
    "lax.after_all": "takes and makes tokens, which order side effects and hold no numbers",
    "lax.create_token": "makes a token, which orders side effects and holds no numbers",
}
"""Functions that cannot be called on their own, each with the reason."""


def transformed(size: Preset) -> Iterable[Arguments]:
    """Signals, images and their spectra."""
    rows, columns = square(size)
    maps = network_maps(size, 32, 64, 64)
    half = columns // 2 + 1
    for why, kind, shape, lengths in (
        ("spectra of frames of sound, a power of two long", "fft", (rows, columns), (columns,)),
        ("spectra back to complex frames", "ifft", (rows, columns), (columns,)),
        ("real frames of sound to half their spectra", "rfft", (rows, columns), (columns,)),
        ("halves of spectra back to frames of sound", "irfft", (rows, half), (columns,)),
        ("feature maps of a Fourier neural operator, two axes", "rfft", maps, maps[2:]),
    ):
        data = tensor(*shape) if kind == "rfft" else tensor(*shape, dtype=SPECTRUM)
        yield {"x": data, "fft_type": kind, "fft_lengths": lengths, WHY: why}


def uniform(size: Preset) -> Rows:
    """Bounds, and a shape to fill."""
    low, high = (fixed(fill=between(end, end)) for end in (0.0, 1.0))
    why = "a mask of dropout's, as XLA draws it without a key"
    return {why: call(a=low, b=high, shape=square(size))}


def bits(size: Preset) -> Rows:
    """Four words of state, and a shape to fill."""
    state = fixed(4, fill=between(0.0, 2.0**31), dtype="uint32")
    return {
        why: call(key=state, shape=shape, dtype=dtype)
        for why, shape, dtype in (
            ("32 bits an element of a mask, by the device's own generator", square(size), "uint32"),
            ("bytes of random bits, for stochastic rounding", vector(size), "uint8"),
        )
    }


def gamma_samples(size: Preset) -> Rows:
    """Samples of gamma distributions, and their shape parameters."""
    sample = fixed(*line(size), fill=POSITIVE)
    return {
        why: call(args=(fixed(*line(size), fill=fill), sample))
        for why, fill in (
            ("gradients of samples by their parameter, for a Dirichlet policy", POSITIVE),
            ("parameters below one, as those of sparse mixtures of topics", between(0.05, 0.5)),
        )
    }


VARIANTS: Mapping[str, Variants] = {
    "lax.dce_sink": lambda size: {"a result that nothing uses": call(val=tensor(*square(size)))},
    "lax.empty": lambda size: {"not written to": call(shape=square(size), dtype=DType(REQUESTED))},
    "lax.fft": transformed,
    "lax.random_gamma_grad": gamma_samples,
    "lax.rng_bit_generator": bits,
    "lax.rng_uniform": uniform,
    "lax.with_sharding_constraint": lambda size: {
        "activations in place: nothing to copy": call(x=tensor(*square(size)), shardings=Device())
    },
}
add_rows(FAMILIES.add, VARIANTS, replaces="fewer elements: XLA loops until all converge")
