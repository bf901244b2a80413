"""Where JAX's repository has its operators: they are functions of Python."""

from __future__ import annotations

from pathlib import Path

from opperf.frameworks.kernel_sources import KernelSources

PREFIXES = {
    "jax/_src/image/": "image.",
    "jax/_src/lax/": "lax.",
    "jax/_src/nn/": "nn.",
    "jax/_src/numpy/": "jnp.",
    "jax/_src/numpy/linalg.py": "jnp.linalg.",
    "jax/_src/numpy/fft.py": "jnp.fft.",
    "jax/_src/random.py": "random.",
    "jax/_src/scipy/linalg.py": "scipy.linalg.",
    "jax/_src/scipy/special.py": "scipy.special.",
}
"""The longest that fits a file counts."""


def read(repository: Path) -> KernelSources | None:
    """Returns where the operators of JAX's repository are; None for another repository."""
    if not (repository / "jax" / "_src").is_dir():
        return None
    return KernelSources(folders=(), prefixes=PREFIXES)
