"""From what a user asks for to cases: names, filters, shapes, and what is refused."""

import re
from collections import Counter
from functools import partial

import pytest
from fake_framework import UNRULED

from opperf.errors import DeviceError, UnknownOperatorError, UsageError
from opperf.model import CallableTarget, Fill, OperatorTarget, Settings, TensorSpec
from opperf.rules.sizes import PRESETS
from opperf.sources.registry import Plan, plan
from opperf.sources.resolving import resolve, resolve_selection
from opperf.sources.selecting import Selection

ALL = (
    "add",
    "add_n",
    "copyto",
    "dropout",
    "exits",
    "fails",
    "flaky",
    "gpu_only",
    "hangs",
    "is_killed",
    "leaves",
    "needs_floats",
    "negative",
    "prints",
    "refuses",
    "relu",
    "rounded",
    "segfaults",
    "with_workspace",
)


def names(planned):
    """The operators of a plan, in its order."""
    return tuple(dict.fromkeys(case.label for case in planned.cases))


def planned_names(fake, *patterns, **others):
    return names(plan(fake, Selection(patterns=patterns, **others)))


def test_no_pattern_is_every_operator(fake):
    planned = plan(fake, Selection())
    assert names(planned) == ALL
    assert planned.excluded == {
        **dict.fromkeys(UNRULED, "no rule has a value for charm (int)"),
        "placeholder": "it does nothing on its own",
    }
    assert set(planned.searchable) == set(UNRULED)


@pytest.mark.parametrize(
    "patterns, expected",
    [
        (("relu",), ("relu",)),
        (("relu", "add"), ("add", "relu")),
        (("relu", "relu", "re*u"), ("relu",)),
        (("neg",), ("negative",)),
        (("_np_negative", "negative"), ("negative",)),
        (("add*",), ("add", "add_n")),
        (("add?n",), ("add_n",)),
        (("[ra]*d",), ("add", "rounded")),
        (("_np_*",), ("negative",)),
        (("re:^add",), ("add", "add_n")),
        (("re:u$",), ("relu",)),
        (("re:eg",), ("negative", "segfaults")),
        (("re:^(relu|add)$",), ("add", "relu")),
        (("re:[.]|relu",), ("relu",)),
    ],
)
def test_patterns(fake, patterns, expected):
    assert planned_names(fake, *patterns) == expected


@pytest.mark.parametrize(
    "exclude, expected",
    [
        (("add",), ("add_n", "copyto")),
        (("add*",), ("copyto",)),
        (("re:^c",), ("add", "add_n")),
        (("relu", "add_n", "copy*"), ("add",)),
    ],
)
def test_exclude(fake, exclude, expected):
    assert planned_names(fake, "add*", "copyto", exclude=exclude) == expected


@pytest.mark.parametrize("pattern", ["nothing_at_all", "zzz*", "re:^zzz"])
def test_an_exclude_that_leaves_out_nothing_is_refused(fake, pattern):
    with pytest.raises(UnknownOperatorError, match="--exclude: no operator is called"):
        planned_names(fake, "add*", exclude=("add", pattern))


def test_exclude_by_alias(fake):
    assert "negative" not in planned_names(fake, exclude=("neg",))


def test_categories_and_namespaces(fake):
    assert planned_names(fake, categories=("binary",)) == ("add", "add_n")
    assert planned_names(fake, categories=("binary", "copying")) == ("add", "add_n", "copyto")
    assert planned_names(fake, namespaces=("np",)) == ("negative",)
    assert planned_names(fake, namespaces=("internal", "np")) == ("copyto", "negative")
    assert planned_names(fake, "add", "relu", categories=("binary",)) == ("add",)
    assert set(planned_names(fake, namespaces=("nd",))) == set(ALL) - {"copyto"}


@pytest.mark.parametrize(
    "selection",
    [
        Selection(patterns=("relu",), categories=("binary",)),
        Selection(categories=("binary",), namespaces=("np",)),
        Selection(patterns=("add",), exclude=("a*",)),
    ],
)
def test_nothing_left_is_an_empty_plan(fake, selection):
    assert plan(fake, selection) == Plan(cases=(), excluded={})


def test_operators_without_a_rule_are_told(fake):
    planned = plan(fake, Selection(patterns=("mystery",)))
    assert planned.cases == ()
    assert planned.excluded == {"mystery": "no rule has a value for charm (int)"}


@pytest.mark.parametrize(
    "pattern, words",
    [
        ("rilu", "no operator is called 'rilu'; did you mean relu?"),
        ("negativ", "did you mean negative"),
        ("zzzzzz", "no operator is called 'zzzzzz'"),
        ("zz*", "no operator is called 'zz*'"),
        ("re:^zz", "no operator is called 're:^zz'"),
        ("other.relu", "other.relu: no such function"),
    ],
)
def test_unknown_names(fake, pattern, words):
    with pytest.raises(UnknownOperatorError, match=re.escape(words)):
        plan(fake, Selection(patterns=("relu", pattern)))


@pytest.mark.parametrize(
    "selection, words",
    [
        (Selection(patterns=("re:(",)), "'re:(' is not a regular expression"),
        (Selection(exclude=("re:[",)), "'re:[' is not a regular expression"),
        (Selection(categories=("unry",)), "unknown category 'unry'; did you mean unary"),
        (Selection(namespaces=("npp",)), "unknown namespace 'npp'; did you mean np?"),
        (Selection(size="smal"), "unknown size 'smal'; did you mean small?"),
        (
            Selection(settings=Settings(dtype="flaot32")),
            "unknown dtype 'flaot32'; did you mean float32",
        ),
        (Selection(settings=Settings(device="tpu")), "unknown device 'tpu'"),
        (Selection(settings=Settings(profiler="x")), "unknown profiler 'x'; fake has: native"),
        (
            Selection(int64_tensor=True),
            "the fake counts to 2**31; use a real one, or --int64-tensor off",
        ),
        (
            Selection(patterns=("relu",), shapes={"lhs": (2,)}),
            "--shape lhs=...: relu has no tensor argument 'lhs' (relu has data)",
        ),
        (Selection(patterns=("add",), shapes={"lsh": (2,)}), "did you mean lhs?"),
        # A number is no tensor, so it has no shape.
        (Selection(patterns=("add_n",), shapes={"scale": (2,)}), "--shape scale=...: add_n has no"),
    ],
)
def test_what_is_refused(fake, selection, words):
    with pytest.raises(UsageError, match=re.escape(words)):
        plan(fake, selection)


def test_a_device_that_is_not_there(fake):
    with pytest.raises(DeviceError, match="the fake has no GPU"):
        plan(fake, Selection(settings=Settings(device="gpu(0)")))


def test_int64_tensors_where_the_build_has_them(fake):
    fake.int64 = True
    (large,) = plan(fake, Selection(patterns=("add",), int64_tensor=True)).cases
    assert large.arguments["lhs"].shape == (PRESETS["int64"].extent(64),)


def test_sizes(fake):
    shapes = {
        size: plan(fake, Selection(patterns=("relu",), size=size)).cases[0].arguments["data"].shape
        for size in ("small", "default", "large")
    }
    assert shapes == {"small": (4, 4), "default": (64, 64), "large": (256, 256)}


def test_a_case_has_everything_that_was_asked_for(fake):
    settings = Settings(dtype="float64", profiler="python", warmup=1, runs=2, threads=3, seed=4)
    planned = plan(fake, Selection(patterns=("relu", "add", "dropout"), settings=settings))
    add, *dropouts, square, vector = planned.cases
    assert add.target == OperatorTarget("fake", "add")
    assert add.arguments == {
        name: TensorSpec((64,), "float64", gradient=True) for name in ("lhs", "rhs")
    }
    assert (add.settings, add.category, add.origin) == (settings, "binary", "table:names")
    assert (square.category, square.origin) == ("unary", "rule:fake_rules.unary")
    assert vector.arguments["data"].shape == (64,)
    assert all(case.passes == ("forward", "backward") for case in planned.cases)
    assert [case.settings.phase for case in dropouts] == ["train", "train"]


def test_without_backward(fake):
    planned = plan(fake, Selection(patterns=("relu",), backward=False))
    assert all(case.passes == ("forward",) for case in planned.cases)


def test_the_shape_a_user_gives(fake):
    (case,) = plan(fake, Selection(patterns=("add",), shapes={"lhs": (2, 3)})).cases
    assert case.arguments["lhs"].shape == (2, 3)
    assert case.arguments["rhs"].shape == (2, 3)
    assert case.origin == "table:names+shape"
    (case,) = plan(fake, Selection(patterns=("add_n",), shapes={"args": (5,)})).cases
    assert [spec.shape for spec in case.arguments["args"]] == [(5,), (5,)]
    assert case.arguments["weight"].shape == (4,)


@pytest.mark.parametrize("option", [{"shapes": {"lhs": (2,)}}, {"values": {"lhs": 1.0}}])
def test_operators_without_an_argument_of_the_users_are_excluded(fake, option):
    shaped = plan(fake, Selection(patterns=("relu", "add"), **option))
    assert {case.label for case in shaped.cases} == {"add"}
    assert shaped.excluded == {"relu": "it has no argument 'lhs'"}


def test_each_shape_may_be_for_one_of_several_operators(fake):
    shapes = {"lhs": (2,), "data": (3, 4)}
    made = plan(fake, Selection(patterns=("relu", "add"), shapes=shapes))
    assert made.excluded == {}
    assert [list(case.arguments.values())[0].shape for case in made.cases] == [(2,), (3, 4)]


def test_an_argument_of_no_operator_is_refused_with_those_there_are(fake):
    with pytest.raises(UsageError) as refused:
        plan(fake, Selection(patterns=("relu", "add"), values={"lsh": 1}))
    assert str(refused.value) == (
        "--arg lsh=...: no selected operator has the argument 'lsh'; did you mean lhs? "
        "(add has lhs, rhs; relu has data)"
    )


def test_a_list_is_the_data_of_a_tensor(fake):
    (case, *_) = plan(fake, Selection(patterns=("relu",), values={"data": ((1, 2), (3, 4))})).cases
    data = case.arguments["data"]
    assert data.shape == (2, 2) and data.fill == Fill("literal", data=[[1, 2], [3, 4]])
    with pytest.raises(UsageError, match="rows of one length"):
        plan(fake, Selection(patterns=("relu",), values={"data": ((1, 2), (3,))}))


def test_arguments_of_the_users_are_enough_without_a_rule(fake):
    (case,) = plan(
        fake, Selection(patterns=("mystery",), shapes={"data": (3, 5)}, values={"charm": 7})
    ).cases
    assert case.arguments == {"data": TensorSpec((3, 5), gradient=True), "charm": 7}


def test_cases_that_a_shape_makes_equal_are_one(fake):
    assert len(plan(fake, Selection(patterns=("relu",))).cases) == 2
    (case,) = plan(fake, Selection(patterns=("relu",), shapes={"data": (2, 3)})).cases
    assert case.arguments["data"].shape == (2, 3)


def test_a_path_is_a_callable(fake):
    planned = plan(fake, Selection(patterns=("fake.np.relu", "add")))
    add, *relus = planned.cases
    assert add.target == OperatorTarget("fake", "add")
    assert {case.target for case in relus} == {CallableTarget("fake", "fake.np.relu")}
    assert all(spec.array_type == "np" for case in relus for _, spec in case.tensors())
    assert all(spec.array_type == "" for _, spec in add.tensors())


def test_ids_do_not_depend_on_what_else_is_asked_for(fake):
    alone = {case.id for case in plan(fake, Selection(patterns=("relu",))).cases}
    whole = plan(fake, Selection(settings=Settings(runs=3, seed=9))).cases
    assert alone < {case.id for case in whole}


def test_what_is_left_to_the_framework_is_filled_in(fake):
    given = Selection(settings=Settings(device="", profiler="", dtype="int32"))
    settings = resolve_selection(given, partial(resolve, fake)).settings
    assert (settings.device, settings.profiler, settings.dtype) == ("cpu(0)", "native", "int32")


def test_a_framework_without_gradients_has_no_backward_passes(fake):
    assert plan(fake, Selection(patterns=("add",))).cases[0].passes == ("forward", "backward")
    fake.gradients.supported = False
    assert plan(fake, Selection(patterns=("add",))).cases[0].passes == ("forward",)


def test_at_most_so_many_configurations_of_each_operator(fake):
    every = Counter(planned_names(fake, "re:.*"))
    first = plan(fake, Selection(configurations=1)).cases
    assert [case.label for case in first] == list(every)
    assert {case.id for case in first} <= {case.id for case in plan(fake, Selection()).cases}


def test_a_memory_format_is_that_of_the_tensors_in_their_final_shapes(fake):
    fake.arrays.memory_formats = ("channels_last",)
    settings = Settings(memory_format="channels_last")
    pictures = Selection(patterns=("relu",), shapes={"data": (2, 3, 8, 8)}, settings=settings)
    (case,) = plan(fake, pictures).cases
    assert case.arguments["data"].memory_format == case.settings.memory_format == "channels_last"
    flat = plan(fake, Selection(patterns=("relu",), settings=settings)).cases
    assert [case.settings.memory_format for case in flat] == ["contiguous"] * 2
    assert flat == plan(fake, Selection(patterns=("relu",))).cases


def test_options_are_checked_with_the_axes(fake):
    values = ({"fake.turbo": "true"}, {"fake.turbo": "false"})
    assert resolve(fake, {"options": values}).usable["options"] == values
    with pytest.raises(UsageError, match="not 'x'"):
        resolve(fake, {"options": (*values, {"fake.turbo": "x"})})
    with pytest.raises(UsageError, match="unknown option"):
        plan(fake, Selection(settings=Settings(options={"fake.trbo": "true"})))
