"""JAX: its public functions, arrays, compiler, profiler. The only package that imports it."""

from __future__ import annotations

import os
from pathlib import Path

from opperf.frameworks.capabilities import Framework
from opperf.frameworks.installed import HLO, CompilerDump, Package, renamed, tested_range
from opperf.frameworks.kernel_sources import KernelSources

SUCCESSORS = renamed(
    "nn.normalize=nn.standardize jnp.alltrue=jnp.all jnp.cumproduct=jnp.cumprod jnp.in1d=jnp.isin "
    "jnp.msort=jnp.sort jnp.product=jnp.prod jnp.round_=jnp.round jnp.row_stack=jnp.vstack "
    "jnp.sometrue=jnp.any jnp.trapz=jnp.trapezoid lax.tie_in=lax.optimization_barrier"
)


WIDE = ("float64", "int64", "uint64", "complex128")
"""Dtypes that JAX has only with its option for 64 bits."""

WIDE_OPTION = "jax_enable_x64"

COLLECTIVES = (
    *("lax.all_gather", "lax.all_to_all", "lax.pmax", "lax.pmean", "lax.pmin", "lax.ppermute"),
    *("lax.psum", "lax.psum_scatter"),
)
"""Functions that work inside a function that is mapped over several devices."""

DEVICES, DEVICES_OPTION = 2, "jax_num_cpu_devices"
"""Devices that run them where the CPU is the device: as many as share a model at
least, and as the smallest machines have cores."""

PACKAGE = Package(
    name="jax",
    offers="forward, backward, memory; native and python profilers; jit and eager; cpu, gpu, tpu",
    requirement="opperf[jax]",
    tested=tested_range("jax"),
    parts=("jaxlib",),
    build_files=("__init__.py", "version.py"),
    variables=("JAX_PLATFORMS", "JAX_ENABLE_X64", "XLA_FLAGS", "JAX_NUM_CPU_DEVICES"),
    # With one heap XLA takes up to a quarter longer to compile.
    allocates_in_parallel=True,
    compiles_ahead=True,
    dtype_options=dict.fromkeys(WIDE, {WIDE_OPTION: "true"}),
    operator_options=dict.fromkeys(COLLECTIVES, {DEVICES_OPTION: str(DEVICES)}),
    # TF32 by default.
    precise_options={"jax_default_matmul_precision": "highest"},
    dumps=(
        CompilerDump("hlo", HLO),
        CompilerDump("stablehlo", {"JAX_DUMP_IR_TO": "{folder}", "JAX_DUMP_IR_MODES": "stablehlo"}),
    ),
    successors=SUCCESSORS,
)

QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}
"""Read when XLA is loaded, which else writes an error for each program from the cache."""


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
"""Beginnings of the names of functions by that of their files; the longest that fits counts."""


def read_kernel_sources(repository: Path) -> KernelSources | None:
    """Returns where the operators of JAX's repository are; None for another repository."""
    is_own = (repository / "jax" / "_src").is_dir()
    return KernelSources(prefixes=PREFIXES) if is_own else None


def framework() -> Framework:
    """Returns JAX, imported."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    from opperf.frameworks.jax.framework import JAX

    return JAX()
