"""Families of PyTorch's fused optimizers, operators over lists of tensors, scaling of gradients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opperf.model import Argument, Fill, Kind, Operator, TensorSpec
from opperf.operations.work.sizes import Formula, Sizes, nothing, per_result
from opperf.rules.configurations import WHY
from opperf.rules.parameters import bert_layer, mini_layers, resnet_50
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    NORMAL,
    ONES,
    POSITIVE,
    PROBABILITY,
    ZEROS,
    Arguments,
    between,
    call,
    fixed,
    literal,
    taken,
    tensors,
)
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

RATE, DECAY = 1e-3, 0.01
"""The learning rate of Adam and the weight decay of AdamW, as PyTorch has by default."""
MOMENTUM = 0.9
STEP = 100.0
"""Steps that an optimizer has made."""


def models(size: Preset) -> tuple[tuple[tuple[Shape, ...], str], ...]:
    """Shapes of the parameters of models, a few large ones and many small ones."""
    return (
        (bert_layer(size), "the 16 parameters of a layer of BERT-base"),
        (mini_layers(size), "the 64 parameters of BERT-mini's layers, most of them small"),
    )


def many(size: Preset) -> tuple[tuple[tuple[Shape, ...], str], ...]:
    """As `models`, and a whole network for images."""
    return (*models(size), (resnet_50(size), "all 161 parameters of ResNet-50"))


def _like(shapes: Iterable[Shape], fill: Fill = NORMAL) -> tuple[TensorSpec, ...]:
    return tensors(fixed(*shape, fill=fill) for shape in shapes)


FILLS: Mapping[str, Fill] = {
    **dict.fromkeys(("self", "grads", "exp_avgs", "momentum_buffer_list"), NORMAL),
    # The updates take roots of these.
    **dict.fromkeys(("exp_avg_sqs", "state_sums"), POSITIVE),
}
"""Fill of each list of tensors of an update."""

VALUES: Mapping[str, Argument] = {
    **{"lr": RATE, "weight_decay": DECAY, "momentum": MOMENTUM},
    **{"beta1": 0.9, "beta2": 0.999, "eps": 1e-8},
    **dict.fromkeys(("lr_decay", "dampening"), 0.0),
    **dict.fromkeys(("amsgrad", "maximize", "nesterov", "is_first_step"), False),
}
"""Plain values of an update."""

LARGEST = "max_exp_avg_sqs"
"""The largest mean squares so far, which AMSGrad alone has."""


def update(operator: Operator, shapes: tuple[Shape, ...]) -> Arguments:
    """The arguments of an update of parameters of these shapes."""
    steps = fixed(fill=Fill("constant", STEP), dtype="float32")
    rate = operator.parameter("lr")
    by_tensor = rate is not None and rate.kind is Kind.TENSOR
    offered: Arguments = {
        **{name: _like(shapes, fill) for name, fill in FILLS.items()},
        LARGEST: (),
        "state_steps": (steps,) * len(shapes),
        **VALUES,
        **({"lr": fixed(fill=literal(RATE), dtype="float32")} if by_tensor else {}),
    }
    return taken(operator, offered)


OPTION = {
    "_fused_sgd": ("nesterov", "with Nesterov's momentum"),
    "_fused_adam": ("amsgrad", "by AMSGrad, with the largest mean squares"),
    "_fused_adamw": ("amsgrad", "by AMSGrad, with the largest mean squares"),
}
"""An option of an update that changes its work."""


def and_in_place(*names: str) -> tuple[str, ...]:
    """The names, and those of the forms that write to their inputs."""
    return tuple(name + end for name in names for end in ("", "_"))


@FAMILIES.add(*and_in_place("_fused_adam", "_fused_adamw", "_fused_sgd", "_fused_adagrad"))
def fused(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """All parameters of a model in one call."""
    for shapes, why in many(size):
        yield {**update(operator, shapes), WHY: why}
    base = operator.name.removesuffix("_")
    if base in OPTION:
        name, words = OPTION[base]
        shapes, why = many(size)[0]
        made = {**update(operator, shapes), name: True}
        if name == "amsgrad":
            made[LARGEST] = _like(shapes, POSITIVE)
        yield {**made, WHY: f"{why}, {words}"}


ZERO, ONE = (fixed(1, fill=fill, dtype="float32") for fill in (ZEROS, ONES))

AMP: dict[str, Variants] = {
    "_amp_foreach_non_finite_check_and_unscale _amp_foreach_non_finite_check_and_unscale_": (
        lambda size: {
            f"gradients of {why}": call(self=_like(shapes), found_inf=ZERO, inv_scale=ONE)
            for shapes, why in many(size)
        }
    ),
    "_amp_update_scale _amp_update_scale_": lambda size: {
        "The scale of gradients after a step of mixed precision that found no infinity": call(
            self=fixed(1, fill=Fill("constant", 65536.0), dtype="float32"),
            growth_tracker=fixed(1, fill=ZEROS, dtype="int32"),
            found_inf=ZERO,
            scale_growth_factor=2.0,
            scale_backoff_factor=0.5,
            growth_interval=2000,
        )
    },
}
add_rows(FAMILIES.add, AMP)

OPEN = between(-0.95, 0.95)

DOMAINS: Mapping[str, Fill] = {
    **dict.fromkeys(("acos", "asin", "tan"), OPEN),
    **dict.fromkeys(("lgamma", "log", "log10", "log1p", "log2"), POSITIVE),
    **dict.fromkeys(("reciprocal", "rsqrt", "sqrt", "pow"), POSITIVE),
}
"""Fill of the tensors of an elementwise operator; others are defined everywhere."""

SECOND = {**dict.fromkeys(("addcdiv", "div", "pow"), POSITIVE), "lerp": PROBABILITY}
"""Fill of the last list of an operator of several."""

LAST_LISTS = ("other", "tensor2", "weights", "exponent")
"""Names of an operator's last list of tensors."""

NUMBERS = ("scalar", "scalars", "weight", "exponent", "value")
"""Names of an operator's numbers."""
NUMBER = 0.9
"""A momentum, as the lists of an optimizer are multiplied with."""
NUMBERS_OF: Mapping[str, float] = {
    **{"add": 1e-8, "addcdiv": -RATE, "sub": RATE},
    **{"addcmul": 0.001, "lerp": 0.1, "clamp_max": 1.0, "clamp_min": -1.0},
}
"""Numbers of others: Adam's epsilon, its steps and its means' weights, limits of gradients."""


def _list_arguments(operator: Operator, word: str, shapes: tuple[Shape, ...]) -> Arguments:
    number = NUMBERS_OF.get(word, NUMBER)
    made: Arguments = {}
    for parameter in operator.parameters:
        if parameter.kind is Kind.TENSORS:
            fills = SECOND if parameter.name in LAST_LISTS else DOMAINS
            made[parameter.name] = _like(shapes, fills.get(word, NORMAL))
        elif parameter.kind is Kind.TENSOR:
            extents = (len(shapes),) if parameter.name == "scalars" else ()
            made[parameter.name] = fixed(*extents, fill=POSITIVE)
        elif parameter.kind is Kind.FLOATS:
            made[parameter.name] = (number,) * len(shapes)
        elif parameter.required or parameter.name in NUMBERS:
            made[parameter.name] = number
    return made


def of_lists(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The parameters, or gradients, of a model in one call."""
    word = operator.name.removeprefix("_foreach_").removesuffix("_")
    for shapes, why in models(size):
        if word == "mm":
            shapes = tuple(shape for shape in shapes if len(shape) == 2 and len({*shape}) == 1)
            why = f"the square matrices of {why.partition(' of ')[2]}"
        yield {**_list_arguments(operator, word, shapes), WHY: why}


LISTS = (
    "abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min clone copy cos cosh div erf "
    "erfc exp expm1 floor frac lerp lgamma log log10 log1p log2 max maximum minimum mm mul neg "
    "norm pow powsum reciprocal round rsqrt sigmoid sign sin sinh sqrt sub tan tanh trunc zero"
)
"""The operations that the operators over lists apply to each tensor."""

COPIED = ("clone", "copy", "zero")
"""Those that compute nothing."""


def of_elements(call: Sizes) -> float:
    """One for each element of the list; the base of a power may be a number in place of it."""
    given = call.get("self")
    arrays = given if isinstance(given, (list, tuple)) else call.get("exponent")
    return float(sum(array.size for array in arrays))


NEW = ("clone", "max", "mm", "norm", "powsum")
"""Those that have no form that writes to its inputs."""

NAMES = {
    f"_foreach_{word}{end}": word
    for word in LISTS.split()
    for end in ("", "_")
    if not (end and word in NEW)
}
WORK = {
    name: Formula(per_result(0) if word in COPIED else of_elements, nothing)
    for name, word in NAMES.items()
    if word != "mm"
}

FAMILIES.add(*NAMES)(of_lists)
