"""Inputs of the functions of JAX that take functions: loops, branches, reductions, solvers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opperf.model import Fill, Function, Number, Operator, TensorSpec
from opperf.model import Mapping as Fields
from opperf.rules.bert import UNITS, layer_width
from opperf.rules.configurations import WHY
from opperf.rules.families.linalg import definite, matrix_to_diagonalise
from opperf.rules.image_shapes import channels_last, feature_maps, network_maps
from opperf.rules.jax.properties import body
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import cube, square, tall, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    COMPLEX,
    NORMAL,
    ONES,
    POSITIVE,
    ZEROS,
    Arguments,
    below,
    between,
    call,
    fixed,
    tensor,
    tensors,
)
from opperf.rules.variants import Variants, own

FAMILIES = Families()

INFINITY, MINUS_INFINITY = Number.of(float("inf")), Number.of(float("-inf"))


def lax(name: str) -> Function:
    """A function of `jax.lax`."""
    return Function(f"jax.lax.{name}")


def steps(size: Preset) -> tuple[int, int, int]:
    """Shape of sequences with time first, as loops read them."""
    return (size.extent(128, least=8), size.batch, size.extent(512, least=32))


def scanned(size: Preset) -> Rows:
    """Loops over time, of little and of more work in each step."""
    time, batch, width = steps(size)
    recurrent: Arguments = {
        "f": body("recurrent_step"),
        "init": Fields({"hidden": tensor(batch, width), "weight": weight(width)}),
        "xs": tensor(time, batch, width),
    }
    return {
        "a linear state-space layer step by step: each step is bound by memory": call(
            f=body("decayed_sum"), init=tensor(batch, width), xs=tensor(time, batch, width)
        ),
        "a plain recurrent layer, a product of matrices in each step": call(**recurrent),
    }


def weight(width: int) -> TensorSpec:
    """A square matrix that keeps the size of what it is multiplied with."""
    end = (3 / width) ** 0.5
    return tensor(width, width, fill=between(-end, end))


def counted(size: Preset) -> Rows:
    """Loops of a number of steps that is known, and of one that a program finds."""
    heat: Arguments = {"lower": 0, "body_fun": body("heat_step"), "init_val": tensor(*vector(size))}
    rows, columns = matrix_to_diagonalise(size)
    guess = tensor(columns, fill=POSITIVE)
    start = Fields({"matrix": definite((rows, columns)), "vector": guess})
    return {
        "twenty explicit steps of the heat equation on a line": call(**heat, upper=20),
        "the same with a number of steps that a program finds: no gradient in reverse": call(
            **heat, upper=fixed(fill=Fill("constant", 20.0), dtype="int32")
        ),
        "ten steps of the power method, as spectral normalisation estimates a norm": call(
            lower=0, upper=10, body_fun=body("power_step"), init_val=start
        ),
    }


def layers(size: Preset) -> tuple[TensorSpec, TensorSpec]:
    """A batch of samples, and the weights of a dense layer."""
    units = layer_width(size, UNITS)
    return tensor(size.extent(1024), units), weight(units)


def branched(size: Preset) -> Rows:
    """Two functions of an array, of which a condition chooses one."""
    condition = fixed(fill=ONES, dtype="bool")
    return {
        "a gradient that is clipped where its norm is too large": call(
            pred=condition,
            true_fun=body("clip_by_norm"),
            false_fun=body("unchanged"),
            operands=tensors([tensor(*vector(size))]),
        ),
        "one of two dense layers, as early exit chooses": call(
            pred=condition,
            true_fun=body("gelu_layer"),
            false_fun=body("relu_layer"),
            operands=tensors(layers(size)),
        ),
    }


def switched(size: Preset) -> Rows:
    """Several functions of an array, of which an index chooses one."""
    branches = tuple(body(name) for name in ("gelu_layer", "relu_layer", "tanh_layer"))
    return {
        "one of three dense layers, as a search for architectures samples them": call(
            index=fixed(fill=below(len(branches)), dtype="int32"),
            branches=branches,
            operands=tensors(layers(size)),
        ),
        "one of two functions of few numbers: mostly the branch's own overhead": call(
            index=fixed(fill=below(2), dtype="int32"),
            branches=(lax("sin"), lax("cos")),
            operands=tensors([tensor(64)]),
        ),
    }


def mapped(size: Preset) -> Rows:
    """A function of each sample, in a loop and in batches of it."""
    samples = tensor(size.extent(64, least=8), 64, 128)
    return {
        "each sample's Gram matrix in turn, saving memory": call(f=body("gram_matrix"), xs=samples),
        "the same, eight samples at a time": call(f=body("gram_matrix"), xs=samples, batch_size=8),
    }


NEARLY_ONE = between(0.69, 0.7)
"""Both parts of a state's factor of one step: of an absolute value just below one."""


def associative(size: Preset) -> Rows:
    """Prefixes of sequences, computed in parallel."""
    time, batch, width = steps(size)
    states = (size.extent(2048), 256)
    turns = [tensor(*states, fill=fill, dtype=COMPLEX) for fill in (NEARLY_ONE, NORMAL)]
    return {
        "S5's recurrence h = a h + b over 2048 steps, of 256 complex states, in parallel": call(
            fn=body("linear_recurrence"), elems=tensors(turns)
        ),
        "sums of the prefixes of rows, as a cumulative sum in logarithmic depth": call(
            fn=lax("add"), elems=tensor(*square(size)), axis=1
        ),
        "the maximum from each step on, as an upper envelope of returns": call(
            fn=lax("max"), elems=tensor(time, batch, width), reverse=True
        ),
    }


def windows(size: Preset) -> Iterable[Arguments]:
    """Poolings, channels last as Flax has them, and a moving sum."""
    maps = tensor(*channels_last(network_maps(size, 64, 112, 112)))
    fewer = tensor(*channels_last(feature_maps(size, 128)))
    least, most, total = (INFINITY, lax("min")), (MINUS_INFINITY, lax("max")), (0.0, lax("add"))
    furthest = (fixed(fill=ZEROS), body("larger_magnitude"))
    one, two, three = (1, 1, 1, 1), (1, 2, 2, 1), (1, 3, 3, 1)
    for why, operand, (init, op), window, strides, padding in (
        ("ResNet in Flax, the maxima after the first layer", maps, most, three, two, "SAME"),
        ("minima around each pixel, as clDice's soft skeleton", maps, least, three, one, "SAME"),
        ("the sums of an average pooling, as DenseNet's transitions", fewer, total, two, two, ""),
        # A border by word needs strides.
        ("a moving sum of 32 samples", tensor(*vector(size)), total, (32,), (1,), "SAME"),
        ("the number furthest from zero, by a custom function", maps, furthest, two, two, ""),
    ):
        made = call(operand=operand, init_value=init, computation=op, window_dimensions=window)
        border = {"padding": padding} if padding else {}
        yield {**made, "window_strides": strides, **border, WHY: why}


def linear_system(size: Preset) -> Rows:
    """Systems without a matrix, whose gradient is another such system."""
    made = call(matvec=body("damped_laplacian"), solve=body("conjugate_gradients"), symmetric=True)
    return {
        "a screened Poisson equation on a ring": call(**made, b=tensor(*vector(size))),
        "the same of many columns, as a grid's layers": call(**made, b=tensor(*square(size))),
    }


def root(size: Preset) -> Iterable[Arguments]:
    """Implicit equations of each element."""
    for why, shape in (
        ("an implicit layer's fixed point of many numbers, found by Newton's method", square(size)),
        ("the same of few numbers: mostly the loop's own overhead", (64,)),
    ):
        yield {
            "f": body("cosine_residual"),
            # A root does not depend on the guess: its gradient is zero.
            "initial_guess": fixed(*shape, fill=PROBABLE),
            "solve": body("newton_solve"),
            "tangent_solve": body("divide_by_slope"),
            WHY: why,
        }


PROBABLE = between(0.5, 1.0)
"""Guesses near the root, at 0.739."""


VARIANTS: Mapping[str, Variants] = {
    "jnp.apply_along_axis": lambda size: {
        "rows without their means": call(func1d=body("centred"), axis=1, arr=tensor(*square(size))),
        "the norm of each column, written for one column": call(
            func1d=Function("jax.numpy.linalg.norm"), axis=0, arr=tensor(*tall(size))
        ),
    },
    "jnp.apply_over_axes": lambda size: {
        why: call(func=function, a=tensor(*cube(size)), axes=(0, 1))
        for why, function in (
            ("sums over batch and time, one axis after the other", body("sum_along")),
            ("the maximum of each feature, one axis after the other", Function("jax.numpy.amax")),
        )
    },
    "jnp.fromfunction": lambda size: {
        "distances on a grid": call(function=body("distance_to_corner"), shape=square(size)),
        "sums of two indices, as a Hankel matrix is filled": call(
            function=Function("jax.numpy.add"), shape=(size.extent(256), 64), dtype="int32"
        ),
    },
    "lax.associative_scan": associative,
    "lax.cond": branched,
    "lax.custom_linear_solve": linear_system,
    "lax.custom_root": root,
    "lax.fori_loop": counted,
    "lax.map": mapped,
    "lax.platform_dependent": lambda size: {
        "a kernel of one platform, and a function in its place elsewhere": call(
            args=tensors([tensor(*square(size))]), cpu=lax("sin"), default=lax("cos")
        ),
        "a dense layer anywhere": call(args=tensors(layers(size)), default=body("gelu_layer")),
    },
    "lax.reduce": lambda size: {
        why: call(operands=tensor(*square(size)), init_values=init, computation=op, dimensions=axes)
        for why, op, init, axes in (
            ("sums along rows, which JAX knows as a reduction of its own", lax("add"), 0.0, (1,)),
            ("the maximum of each column", lax("max"), MINUS_INFINITY, (0,)),
            ("logsumexp of each row", body("log_add"), fixed(fill=Fill("constant", -100.0)), (1,)),
            ("the number furthest from zero", body("larger_magnitude"), fixed(fill=ZEROS), (0, 1)),
        )
    },
    "lax.reduce_window": windows,
    "lax.scan": scanned,
    "lax.switch": switched,
    "lax.while_loop": lambda size: {
        why: call(
            cond_fun=body("has_steps_left"),
            body_fun=body("newton_step"),
            init_val=Fields(
                {
                    "root": tensor(*shape, fill=POSITIVE),
                    "number": tensor(*shape, fill=POSITIVE),
                    "step": fixed(fill=ZEROS, dtype="int32"),
                }
            ),
        )
        for why, shape in (
            ("twenty steps of Newton's method for the roots of many numbers", square(size)),
            ("the same of few numbers: mostly the loop's own overhead", (16,)),
        )
    },
    "scipy.optimize.minimize": lambda size: {
        "Rosenbrock's function of 16 numbers by BFGS: short vectors, many steps": call(
            fun=body("rosenbrock"), x0=fixed(size.extent(16, least=2)), method="BFGS"
        )
    },
}


@FAMILIES.add(*VARIANTS)
def of_functions(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Functions, and the arrays that they are called with. JAX 0.6 requires a window's padding."""
    padding = operator.parameter("padding")
    needed = {"padding": "VALID"} if padding is not None and padding.required else {}
    return [{**made, **needed, **made} for made in own(VARIANTS, operator, size)]
