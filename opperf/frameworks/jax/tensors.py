"""JAX's arrays from specs, and specs from arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np

from opperf.errors import UnsupportedError, UsageError
from opperf.frameworks import fill, numpy_arrays
from opperf.frameworks.base import Contents, Extent
from opperf.frameworks.jax import WIDE, WIDE_OPTION, devices
from opperf.frameworks.jax.compiling import FLAGS
from opperf.frameworks.jax.devices import KEYS, NARROWED, dtype_of, has_wide
from opperf.frameworks.user_inputs import FUNCTION
from opperf.model import Fill, Settings, TensorSpec

IN_NUMPY = (
    *("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"),
    *("float16", "float32", "float64"),
    *("complex64", "complex128"),
)
"""Dtypes that NumPy has too."""


KEY_CODE = "jax.random.key({seed}, impl={implementation})"


def code(spec: TensorSpec, seed: int) -> fill.Code:
    """Returns the code of an array, which uses `jnp`. Raises `UnsupportedError`."""
    if spec.layout != "dense":
        raise UnsupportedError(f"JAX has no {spec.layout} arrays")
    if spec.fill.distribution == FUNCTION:
        made = fill.returned(spec)
        # Without a dtype it keeps a type that is weak.
        converted = f", dtype={str(dtype_of(spec.dtype))!r}" if spec.fill.dtype else ""
        return made.within(f"jnp.array({{made}}{converted})")
    if spec.dtype in KEYS:
        key = fill.Code((), KEY_CODE, {"seed": seed, "implementation": KEYS[spec.dtype]})
        return (
            key.within("jax.random.split({made}, {shape})", shape=spec.shape) if spec.shape else key
        )
    made = _contents(spec, seed)
    # A copy: JAX may share the memory of NumPy's array, and opperf frees that.
    return made.within(f"jnp.array({{made}}, dtype={str(dtype_of(spec.dtype))!r})")


def _contents(spec: TensorSpec, seed: int) -> fill.Code:
    dtype = spec.dtype if spec.dtype in IN_NUMPY else "float32"
    return fill.code(msgspec.structs.replace(spec, dtype=dtype), seed)


def tensor(spec: TensorSpec, device: str, seed: int) -> Any:
    """Returns an array as specified. Raises `UnsupportedError` if JAX has no such array."""
    return _placed(code(spec, seed).run(jax=jax, jnp=jnp), device)


def _placed(value: Any, device: str) -> Any:
    return jax.block_until_ready(jax.device_put(value, devices.jax_device(device)))


def is_key(value: Any) -> bool:
    """Whether an array is one of keys of random numbers."""
    return bool(jnp.issubdtype(value.dtype, jax.dtypes.prng_key))


def describe(value: Any) -> TensorSpec | None:
    """Returns the spec of an array of a user's, or None. Raises as `Arrays.describe`."""
    if isinstance(value, np.ndarray):
        numpy_arrays.check(value)
    elif not isinstance(value, jax.Array):
        return None
    elif len(value.devices()) > 1:
        raise UsageError(
            f"an array is on {len(value.devices())} devices, and a case on one; shard it in the "
            "measured function"
        )
    data = jax.random.key_data(value) if isinstance(value, jax.Array) and is_key(value) else value
    held = np.ascontiguousarray(np.asarray(data))
    key = repr((value.shape, str(value.dtype))).encode() + held.tobytes()
    return TensorSpec(
        shape=tuple(value.shape),
        dtype=str(value.dtype),
        fill=Fill("given", digest=hashlib.sha256(key).hexdigest()[:16]),
        gradient=bool(jnp.issubdtype(value.dtype, jnp.inexact)),
        # Keys of random numbers have no such attribute.
        weak_type=bool(getattr(value, "weak_type", False)),
    )


def copy_to_device(value: Any, spec: TensorSpec, device: str) -> Any:
    """Returns a copy, on the device, of an array that a user passed, in its dtype."""
    if spec.fill.dtype:
        copied = jnp.array(value, dtype=dtype_of(spec.dtype))
    else:
        copied = value.copy() if isinstance(value, jax.Array) else jnp.array(value)
    return _placed(copied, device)


def narrowed(dtype: str, beside: Collection[str], settings: Settings) -> str:
    """Returns the dtype that JAX makes of an array of NumPy under these settings."""
    set_here = [
        FLAGS.get(text.lower())
        for name, text in settings.options.items()
        if WIDE_OPTION.endswith(name.rpartition(".")[2])
    ]
    is_wide = settings.dtype in WIDE or (set_here[-1] if set_here else has_wide())
    return dtype if is_wide else NARROWED.get(dtype, dtype)


def arrays(values: Any) -> Iterator[jax.Array]:
    """Yields every array among arguments or results, with whatever they are nested in."""
    for value in jax.tree_util.tree_leaves(values):
        if isinstance(value, jax.Array) and not value.is_deleted():
            yield value


def has_nan(outputs: Any) -> bool:
    """Whether any array among a call's results has a NaN."""
    # By NumPy: JAX would compile two programs for each shape.
    return any(
        bool(np.isnan(np.asarray(array)).any())
        for array in arrays(outputs)
        if jnp.issubdtype(array.dtype, jnp.inexact)
    )


def contents(value: Any) -> Contents | None:
    """Returns what an array holds; None for one whose memory was given away, and others."""
    if not isinstance(value, jax.Array) or value.is_deleted():
        return None
    data = jax.random.key_data(value) if is_key(value) else value

    def numbers(step: int) -> Any:
        flat = np.asarray(data).reshape(-1)[::step]
        if str(flat.dtype) in IN_NUMPY:
            return flat
        return flat.astype("float32" if jnp.issubdtype(flat.dtype, jnp.floating) else "int32")

    size = max(LEAST_BYTES, data.dtype.itemsize) * data.size
    return Contents(tuple(data.shape), str(value.dtype), "dense", size, numbers)


def like(array: jax.Array, numbers: Any) -> jax.Array:
    """Returns an array like another one, with the contents of one of NumPy."""
    made: jax.Array = jax.device_put(numbers.astype(array.dtype), array.sharding)
    jax.block_until_ready(made)
    return made


LEAST_BYTES = 4
"""Of an element whose numbers NumPy has: smaller ones that it lacks become float32 or int32."""


def extent(value: jax.Array) -> Extent:
    """Returns an array's place in memory."""
    if is_key(value):
        value = jax.random.key_data(value)
    size = int(value.nbytes)
    try:
        begin = value.unsafe_buffer_pointer()
    except (ValueError, RuntimeError, jax.errors.JaxRuntimeError):
        # One that is on several devices has no single address.
        return Extent(size, elements=int(value.size))
    return Extent(size, begin, begin + size, int(value.size))


def extents(values: Any) -> list[Extent]:
    """Returns the places in memory of the arrays among values."""
    return [extent(array) for array in arrays(values)]
