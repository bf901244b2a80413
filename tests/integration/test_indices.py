"""Indices are drawn from the whole of the axis that they index, in every framework and operator."""

from functools import partial

import numpy as np
import pytest

from opperf.errors import FrameworkError, UnknownOperatorError
from opperf.frameworks import fill, load
from opperf.model import Case, Fill, Settings, TensorSpec
from opperf.rules.bounds import places
from opperf.rules.callables import bounds_of, inputs_for_target
from opperf.rules.ranges import NARROW, Limit, reshaped
from opperf.rules.sizes import PRESETS
from opperf.rules.values import below
from opperf.sources.call import UserCall
from opperf.sources.completing import as_called
from opperf.sources.registry import plan
from opperf.sources.resolving import resolve, resolve_selection
from opperf.sources.selecting import Selection
from opperf.sources.shapes import bounded, within_range


@pytest.fixture(scope="module", params=["torch", "numpy", "jax", "mxnet"])
def framework(request):
    try:
        return load(request.param)
    except FrameworkError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def torch():
    return load("torch")


LEAST = {"torch": 80, "numpy": 7, "jax": 15, "mxnet": 20}
"""Operators with indices, at least: the registries have some more."""

DRAWS = 40
"""Numbers of which the greatest is in the upper half of their range, but once in 10**12."""


def numbers(spec):
    return np.asarray(fill.code(spec, 0).run())


def indexed(framework):
    """Yields each operator with indices, what bounds them, and its configurations."""
    for operator in framework.operators():
        made = inputs_for_target(framework, operator.target, operator, PRESETS["small"], "float32")
        listed = [one.arguments for one in made] if isinstance(made, list) else []
        drawn = (spec.fill.distribution for one in listed for _, spec in places(one))
        if not {"integers", "permutation"}.isdisjoint(drawn):
            bounds = bounds_of(framework, operator.target, operator)
            if bounds.of:
                yield operator, bounds, listed


def larger(arguments, owner):
    """Returns the arguments with three times each extent of one tensor, and of the indices."""

    def change(place, value):
        if isinstance(value, tuple):
            return tuple(change(f"{place}.{i}", one) for i, one in enumerate(value))
        if not isinstance(value, TensorSpec) or value.strides:
            return value
        times = 3 if place == owner else 1
        return reshaped(value, tuple(extent * times for extent in value.shape))

    return {name: change(name, value) for name, value in arguments.items()}


def test_indices_of_every_operator_are_of_the_whole_axis(framework, monkeypatch):
    """By its rule as it is, and with a larger tensor to index. Whether results fit in place, which
    PyTorch infers for most of the time, says nothing of indices."""
    monkeypatch.setattr(type(framework.inference), "fits_in_place", lambda *_: True)
    found = 0
    for operator, bounds, configurations in indexed(framework):
        found += 1
        for arguments in configurations:
            case = Case(operator.target, arguments)
            # An id depends on the contents.
            assert bounded(framework, case).arguments == arguments, operator.label
            for place, spec in places(arguments):
                bound = bounds.bound(place)
                if bound is None or spec.fill.distribution != "integers" or spec.dtype in NARROW:
                    continue
                for owner in dict.fromkeys(key[1] for key in bound.keys):
                    made = larger(arguments, owner)
                    limit = bounds.limit(place, made)
                    if limit is None:
                        # A number that this configuration does not have, as bincount's.
                        assert owner not in arguments, (operator.label, place)
                        continue

                    def whole(place, made=made, bounds=bounds):
                        return Limit(bounds.limit(place, made), True)

                    changed = dict(places(within_range(arguments, made, whole)))[place]
                    drawn = numbers(changed)
                    assert drawn.min() >= 0 or spec.fill.low < 0, operator.label
                    assert drawn.max() < limit, (operator.label, place)
                    if drawn.size >= DRAWS:
                        assert drawn.max() >= limit // 2, (operator.label, place)
    assert found >= LEAST[framework.name]


CHOSEN = [
    ("torch", "embedding", {"weight": (1000, 64), "indices": (400,)}, {}, "indices", 1000),
    ("torch", "gather", {"self": (100, 3), "index": (50, 3)}, {"dim": 0}, "index", 100),
    ("torch", "gather", {"self": (3, 100), "index": (3, 50)}, {"dim": 1}, "index", 100),
    ("torch", "take", {"self": (30, 7), "index": (100,)}, {}, "index", 210),
    ("torch", "one_hot", {"self": (100,)}, {"num_classes": 9}, "self", 9),
    ("torch", "nll_loss", {"self": (100, 7), "target": (100,)}, {}, "target", 7),
    ("torch", "index_select", {"self": (3, 500), "index": (90,)}, {"dim": 1}, "index", 500),
    ("torch", "torch.gather", {"self": (100, 3), "index": (50, 3)}, {"dim": 0}, "index", 100),
    ("numpy", "take", {"a": (5, 900), "indices": (90,)}, {"axis": 1}, "indices", 900),
    ("numpy", "take_along_axis", {"arr": (3, 50), "indices": (3, 90)}, {"axis": 1}, "indices", 50),
    ("jax", "jnp.take", {"a": (5, 900), "indices": (90,)}, {"axis": 1}, "indices", 900),
    ("mxnet", "Embedding", {"data": (90,)}, {"input_dim": 70}, "data", 70),
    ("mxnet", "pick", {"data": (60, 9), "index": (9,)}, {"axis": 0}, "index", 60),
    ("mxnet", "gather_nd", {"data": (500, 4), "indices": (2, 90)}, {}, "indices", 4),
]
"""A framework's operator, what a user sets, and the limit of its indices."""


@pytest.mark.parametrize(("name", "operator", "shapes", "values", "place", "limit"), CHOSEN)
def test_indices_suit_a_users_shapes_and_axis(name, operator, shapes, values, place, limit):
    try:
        framework = load(name)
    except FrameworkError as error:
        pytest.skip(str(error))
    selection = Selection(
        patterns=(operator,),
        size="small",
        shapes=shapes,
        values=values,
        settings=Settings(profiler="python"),
    )
    made = plan(framework, resolve_selection(selection, partial(resolve, framework))).cases
    assert made
    assert {case.arguments[place].fill.high for case in made} == {limit}


def test_distinct_indices_are_of_the_whole_axis_too(torch):
    shapes = {"self": (1000, 64), "index": (100,), "source": (100, 64)}
    selection = Selection(patterns=("index_copy",), size="small", shapes=shapes, values={"dim": 0})
    for case in plan(torch, resolve_selection(selection, partial(resolve, torch))).cases:
        drawn = numbers(case.arguments["index"])
        assert len(set(drawn.tolist())) == 100
        assert 500 <= drawn.max() < 1000


SEEN = [
    ("aten.cross_entropy_loss.default", {"0": (8, 5), "1": (8,)}, "target", (0, 5)),
    ("aten.nll_loss.default", {"0": (8, 5), "1": (8,)}, "target", (0, 5)),
    ("torch.nn.functional.cross_entropy", {"0": (8, 5), "1": (8,)}, "1", (0, 5)),
    ("torch.nn.functional.nll_loss", {"0": (8, 5), "1": (8,)}, "1", (0, 5)),
    ("torch.bincount", {"0": (8,)}, "0", (0, 64)),
    ("aten.take_along_dim.default", {"0": (9, 3), "1": (4, 3), "2": 0}, "indices", (0, 9)),
]
"""Calls of recordings and configurations, and the range of their indices."""


@pytest.mark.parametrize(("path", "given", "place", "ends"), SEEN)
def test_calls_seen_elsewhere_have_the_contents_of_the_rule(torch, path, given, place, ends):
    last = [name for name, value in given.items() if isinstance(value, tuple)][-1]
    arguments = {
        name: value
        if isinstance(value, int)
        else TensorSpec(value, "int64" if name == last else "float32")
        for name, value in given.items()
    }
    target = (
        torch.naming.callable_target(path)
        if path.startswith("torch")
        else torch.resolve(path).target
    )
    case = as_called(torch, Case(target, arguments), {})
    own = case.arguments[place].fill
    assert (own.distribution, own.low, own.high) == ("integers", *ends)


def test_integers_that_the_others_decide_follow_a_users_shapes(torch):
    """Of a rule's configurations, and of a call's inputs."""
    shapes = {"weight": (1000, 8), "indices": (2000,), "offsets": (50,)}
    settings = Settings(profiler="python")
    selection = Selection(("embedding_bag",), size="small", shapes=shapes, settings=settings)
    made = plan(torch, resolve_selection(selection, partial(resolve, torch)))
    assert made.cases
    for case in (*made.cases, *made.plain):
        begins = numbers(case.arguments["offsets"])
        has_last = case.arguments.get("include_last_offset", False)
        lengths = np.diff(begins if has_last else [*begins, 2000])
        assert begins[0] == 0 and set(lengths.tolist()) <= {40, 41}
    embedding_bag = torch.function(torch.resolve("embedding_bag").target)
    (case,) = UserCall(torch, embedding_bag, [shapes], settings).cases()
    assert numbers(case.arguments["offsets"]).tolist() == list(range(0, 2000, 40))
    # What a user writes stays.
    values = {"offsets": (0, 3, 7)}
    selection = Selection(
        patterns=("embedding_bag.default",),
        size="small",
        shapes={"indices": (20,)},
        values=values,
        settings=Settings(profiler="python"),
    )
    made = plan(torch, resolve_selection(selection, partial(resolve, torch))).cases
    assert {tuple(case.arguments["offsets"].fill.data) for case in made} == {(0, 3, 7)}


LACKING = TensorSpec((100,), "int64")


@pytest.mark.parametrize(
    ("path", "arguments", "returned", "place", "fill_of", "says"),
    [
        ("take", {"0": TensorSpec((10**6, 64)), "1": LACKING}, (), "index", below(64 * 10**6), ""),
        (
            "embedding_renorm_",
            {"0": TensorSpec((99, 7)), "1": LACKING},
            (),
            "indices",
            below(99),
            "",
        ),
        ("_unique2", {"0": LACKING}, ((10,),), "self", Fill("balanced", 0.0, 10.0), ""),
        ("_unique2", {"0": LACKING}, ((101,),), "self", below(1908), "returned (101,)"),
        (
            "embedding_bag",
            {
                "0": TensorSpec((99, 7)),
                "1": LACKING,
                # A recorded range, and a view of what is no index.
                "2": TensorSpec((4,), "int64", below(76), offset=3, strides=(2,)),
            },
            (),
            "offsets",
            Fill("literal", data=[0, 25, 50, 75]),
            "",
        ),
    ],
)
def test_recorded_calls_have_what_their_arguments_and_results_decide(
    torch, path, arguments, returned, place, fill_of, says
):
    case = Case(torch.resolve(path).target, arguments, returned=returned)
    made = as_called(torch, case, {})
    spec = made.arguments[place]
    assert spec.fill == fill_of and not spec.is_view
    assert (says in made.why) if says else made.why == ""
    assert made.returned == ()


PYTHON_NAMES = [
    ("conv2d", {}, {"dilation": 2}, {"dilation": (2, 2)}),
    ("avg_pool2d", {}, {"kernel_size": 3}, {"kernel_size": (3, 3)}),
    ("sum", {}, {"axis": 1, "keepdims": True}, {"dim": (1,), "keepdim": True}),
    ("mm", {"input": (8, 8)}, {}, {}),
    ("torch.index_put", {"input": (8, 8)}, {}, {}),
    ("gather", {"input": (100, 3), "index": (50, 3)}, {"axis": 0}, {"dim": 0}),
]
"""PyTorch's own names of arguments, and one number for a list."""


@pytest.mark.parametrize(("name", "shapes", "values", "expected"), PYTHON_NAMES)
def test_arguments_are_written_as_in_pytorch(torch, name, shapes, values, expected):
    selection = Selection(patterns=(name,), size="small", shapes=shapes, values=values)
    made = plan(torch, resolve_selection(selection, partial(resolve, torch))).cases
    assert made
    for case in made:
        assert expected.items() <= case.arguments.items()
        if "input" in shapes:
            assert case.arguments["self"].shape == shapes["input"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("aten.expand.SymInt", "it was merged into expand"),
        ("aten.upsample_nearest2d_backward.vec", "calls upsample_nearest2d_backward with sizes"),
        ("aten.sum.foo", "did you mean sum, sum.dim_IntList"),
        ("aten.mm.something", "mm has no overload .something.; it has mm"),
    ],
)
def test_an_overload_that_is_gone_says_what_there_is_in_its_place(torch, name, message):
    with pytest.raises(UnknownOperatorError, match=message):
        torch.naming.callable_target(name)
