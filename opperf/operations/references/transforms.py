"""Fourier transforms: of whole tensors, and of frames of signals."""

from __future__ import annotations

import numpy as np
from scipy import fft

from opperf.operations.references.reference import Array, Functions
from opperf.operations.references.shapes import INDICES


def short_time_fourier_transform(x: Array, window: Array, hop: int, centred: bool = True) -> Array:
    """The spectra of overlapping frames of real signals, by frequency and frame. The first frame is
    centred at the first sample, the signal mirrored before it, or begins there."""
    length = len(window)
    if centred:
        border = length // 2
        indices = np.arange(-border, x.shape[-1] + border)
        x = x[..., INDICES["reflect"](indices, x.shape[-1])]
    starts = np.arange(0, x.shape[-1] - length + 1, hop)
    frames = x[..., starts[:, None] + np.arange(length)]
    return np.swapaxes(fft.rfft(frames * window), -1, -2)


def inverse_short_time_fourier_transform(x: Array, window: Array, hop: int) -> Array:
    """The signals of spectra of overlapping centred frames: their sum over the squared windows'."""
    length, count = len(window), x.shape[-1]
    frames = fft.irfft(np.swapaxes(x, -1, -2), length) * window
    made = np.zeros((*x.shape[:-2], length + hop * (count - 1)))
    weights = np.zeros(made.shape[-1])
    for i in range(count):
        here = slice(i * hop, i * hop + length)
        made[..., here] += frames[..., i, :]
        weights[here] += window**2
    inside = slice(length // 2, made.shape[-1] - length // 2)
    return made[..., inside] / weights[inside]


REFERENCES: Functions = {
    "cosine_transform": lambda x, axes: fft.dctn(x, axes=axes),
    "fourier_transform": lambda x, axes: fft.fftn(x, axes=axes),
    "hermitian_fourier_transform": lambda x, axes: fft.hfftn(x, axes=axes),
    "inverse_cosine_transform": lambda x, axes: fft.idctn(x, axes=axes),
    "inverse_fourier_transform": lambda x, axes: fft.ifftn(x, axes=axes),
    "inverse_hermitian_fourier_transform": lambda x, axes: fft.ihfftn(x, axes=axes),
    "inverse_real_fourier_transform": lambda x, axes: fft.irfftn(x, axes=axes),
    "real_fourier_transform": lambda x, axes: fft.rfftn(x, axes=axes),
}
