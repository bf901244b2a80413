"""From an operator to its inputs: which rule is taken, and what is put into what it made."""

from types import SimpleNamespace

import pytest

from opperf.errors import RuleError
from opperf.model import DType, Fill, Kind, Operator, Parameter, TensorSpec
from opperf.operations.uses import Choice, use
from opperf.rules.configurations import DTYPE, PHASE, ROW, TAGS, WHY, inputs_of, read_configuration
from opperf.rules.deriving import in_dtype
from opperf.rules.engine import (
    FOUND,
    OUTPUT,
    SEARCH,
    Inputs,
    arguments_by_role,
    from_table,
    inputs_for,
    rules_module,
)
from opperf.rules.extents import Fuzz
from opperf.rules.registering import Families, NoInputs
from opperf.rules.search import SearchResult
from opperf.rules.shapes import DISPATCH, FEW
from opperf.rules.sizes import PRESETS
from opperf.rules.values import (
    AT_LEAST_SINGLE,
    REQUESTED,
    below,
    fixed,
    rename_arguments,
    tensor,
    tensors,
    with_dtype,
)

DEFAULT = PRESETS["default"]


def parameter(name, kind=Kind.TENSOR, required=True, **others):
    return Parameter(name=name, kind=kind, required=required, **others)


def operator(name="op", *parameters, category="", aliases=()):
    return Operator(
        framework="fake",
        namespace="nd",
        name=name,
        aliases=aliases,
        parameters=parameters or (parameter("data"),),
        category=category,
    )


def rules(families=None, table=None, **others):
    return SimpleNamespace(
        **{
            "FAMILIES": families or Families(),
            "TABLE": {key: (lambda o, p, made=made: made) for key, made in (table or {}).items()},
            "OPERATIONS": {},
            "GRADIENTS": True,
            "DTYPE": "float32",
            "OPTIONAL_TENSORS": frozenset(),
            "TRAIN_PHASE": frozenset(),
            "NEEDS_OUTPUT": frozenset(),
            "FUNCTIONS": {},
            "NUMPY_INTERFACE": "",
            "NOT_BENCHMARKED": {},
            "NOT_FINITE": {},
        }
        | others
    )


def family(*made):
    def some_rule(operator, preset):
        """A rule for tests. Not more."""
        return list(made)

    return some_rule


def arguments_of(made):
    assert not isinstance(made, NoInputs), made
    return [inputs.arguments for inputs in made]


class TestFurther:
    """Families that add to the configurations of another rule."""

    def test_come_after_those_of_the_rule(self):
        dense, sparse = {"data": tensor(2)}, {"data": tensor(3)}
        families = Families()
        families.add("op")(family(dense))
        families.also("alias")(family(sparse))
        made = inputs_for(operator(aliases=("alias",)), rules(families), DEFAULT, "float32")
        assert [one.arguments["data"].shape for one in made] == [(2,), (3,)]

    def test_are_enough_without_a_rule(self):
        families = Families()
        families.also("op")(family({"data": tensor(3)}))
        assert len(inputs_for(operator(), rules(families), DEFAULT, "float32")) == 1

    def test_several_of_one_operator_and_of_merged_modules(self):
        families, other = Families(), Families()
        families.also("op")(family({"data": tensor(2)}))
        other.also("op")(family({"data": tensor(3)}))
        families.merge(other)
        made = inputs_for(operator(), rules(families), DEFAULT, "float32")
        assert [one.arguments["data"].shape for one in made] == [(2,), (3,)]


class TestOwnDtype:
    """Configurations that models run in another dtype than the default."""

    @staticmethod
    def found(families, dtype):
        made = inputs_for(operator(), rules(families), DEFAULT, dtype)
        return [(one.arguments["data"].dtype, one.dtype, one.why) for one in made]

    def test_holds_where_none_is_requested(self):
        families = Families()
        made = {"data": tensor(2), WHY: "a layer", DTYPE: "bfloat16"}
        families.add("op")(family(made, {"data": tensor(3), WHY: "another"}))
        half = ("bfloat16", "bfloat16", "a layer")
        assert self.found(families, "") == [half, ("float32", "", "another")]
        assert self.found(families, "float64") == [
            ("float64", "", "a layer"),
            ("float64", "", "another"),
        ]

    def test_that_is_another_when_requested_is_left_out(self):
        families = Families()
        made = {"data": tensor(2), WHY: "a layer"}
        families.add("op")(family(made, {**made, WHY: "in half", DTYPE: "bfloat16"}))
        assert [one[1:] for one in self.found(families, "")] == [
            ("", "a layer"),
            ("bfloat16", "in half"),
        ]
        assert self.found(families, "float32") == [("float32", "", "a layer")]

    def test_of_a_users_operator_is_the_users_alone(self):
        families = Families()
        families.add("op")(family({"data": tensor(2)}))
        families.derive(in_dtype("bfloat16"), "op")
        assert [own for _, own, _ in self.found(families, "")] == [""]


class TestFamilies:
    def test_are_found_by_name_and_alias(self):
        families = Families()
        named = families.add("conv", "deconv")(family())
        assert families.family_of(operator("conv")) is named
        assert families.family_of(operator("deconv")) is named
        assert families.family_of(operator("other", aliases=("x", "conv"))) is named
        assert families.family_of(operator("other")) is None

    def test_the_decorator_leaves_the_function_as_it_is(self):
        rule = family()
        assert Families().add("a")(rule) is rule
        assert Families().category("a")(rule) is rule
        assert Families().operation("add")(rule) is rule

    def test_two_for_one_are_refused(self):
        families = Families()
        families.add("conv")(family())
        families.category("conv")(family())
        families.operation("convolution")(family())
        with pytest.raises(RuleError, match="two families for the operator 'conv'"):
            families.add("pool", "conv")(family())
        with pytest.raises(RuleError, match="two families for the category 'conv'"):
            families.category("conv")(family())
        with pytest.raises(RuleError, match="two families for the operation 'convolution'"):
            families.operation("convolution")(family())

    def test_an_operation_is_a_canonical_one(self):
        with pytest.raises(RuleError, match="no canonical operation is called 'plus'"):
            Families().operation("plus")(family())

    def test_merge(self):
        one, other, clash = Families(), Families(), Families()
        first = one.add("a")(family())
        second = other.add("b")(family())
        third = other.category("c")(family())
        fourth = other.operation("add")(family())
        one.merge(other)
        assert one.by_name == {"a": first, "b": second}
        assert one.by_category == {"c": third}
        assert one.by_operation == {"add": fourth}
        assert "a" not in other.by_name
        clash.add("b")(family())
        with pytest.raises(RuleError, match="two families for the operator 'b'"):
            one.merge(clash)


class TestInputsFor:
    def test_a_family_comes_before_the_table(self):
        families = Families()
        families.add("op")(family({"data": tensor(2)}, {"data": tensor(3)}))
        chosen = rules(families, {("data", Kind.TENSOR): [tensor(9)]})
        made = inputs_for(operator(), chosen, DEFAULT, "float32")
        assert made == [
            Inputs(
                {"data": TensorSpec((extent,), gradient=True)},
                "rule:test_engine.some_rule",
                why="A rule for tests",
            )
            for extent in (2, 3)
        ]

    def test_the_table_is_for_the_rest(self):
        chosen = rules(table={("data", Kind.TENSOR): [tensor(9)]})
        (made,) = inputs_for(operator(), chosen, DEFAULT, "float32")
        assert made.arguments == {"data": TensorSpec((9,), gradient=True)}
        assert (made.origin, made.why) == ("table:names", "9 elements for data")

    def test_a_family_may_say_why_there_are_no_inputs(self):
        families = Families()
        families.add("op")(lambda operator, preset: NoInputs("needs a file"))
        assert inputs_for(operator(), rules(families), DEFAULT, "float32") == NoInputs(
            "needs a file"
        )

    def test_a_family_sees_the_operator_and_the_size(self):
        seen = []
        families = Families()
        families.category("unary")(lambda operator, preset: seen.append((operator, preset)) or [])
        asked = operator("x", category="unary")
        assert inputs_for(asked, rules(families), PRESETS["small"], "float32") == []
        assert seen == [(asked, PRESETS["small"])]

    def test_a_family_by_name_then_by_operation_then_by_category(self):
        families = Families()
        families.category("binary")(family({"lhs": tensor(3)}))
        asked = operator("sum", parameter("lhs"), parameter("rhs"), category="binary")
        chosen = rules(families, OPERATIONS={"sum": use("add", "x=lhs y=rhs")})

        def shapes():
            made = arguments_of(inputs_for(asked, chosen, DEFAULT, "float32"))
            return [{name: value.shape for name, value in one.items()} for one in made]

        assert shapes() == [{"lhs": (3,)}]
        families.operation("add")(family({"x": tensor(4), "y": tensor(5)}))
        assert shapes() == [{"lhs": (4,), "rhs": (5,)}]
        families.add("sum")(family({"lhs": tensor(6)}))
        assert shapes() == [{"lhs": (6,)}]

    def test_a_frameworks_family_adds_to_the_shared_one_unless_it_says_why_not(self, monkeypatch):
        monkeypatch.setattr("opperf.rules.registering.is_users", lambda family: False)
        asked = operator("sum", parameter("lhs"), parameter("rhs"))
        shared = family({"x": tensor(4), "y": tensor(5)})
        four, six = ({"lhs": tensor(extent), "rhs": tensor(5)} for extent in (4, 6))
        for words, expected in ({}, [4, 6]), ({"replaces": "sums of rows"}, [6, 4]):
            families = Families()
            families.operation("add")(shared)
            families.add("sum", **words)(family(six, four))
            chosen = rules(families, OPERATIONS={"sum": use("add", "x=lhs y=rhs")})
            made = arguments_of(inputs_for(asked, chosen, DEFAULT, "float32"))
            assert [one["lhs"].shape[0] for one in made] == expected

    def test_what_an_operator_has_no_argument_for_is_left_to_others(self):
        families = Families()
        families.operation("flip")(family({"x": tensor(4)}, {"x": tensor(5), "axis": 1}))
        asked = operator("fliplr", parameter("m"))
        chosen = rules(families, OPERATIONS={"fliplr": use("flip", "x=m", axis=1)})
        (first, second) = inputs_for(asked, chosen, DEFAULT, "float32")
        assert (first.arguments["m"].shape, second.arguments["m"].shape) == ((4,), (5,))
        chosen.OPERATIONS = {"fliplr": use("flip", "x=m", axis=0)}
        (only,) = inputs_for(asked, chosen, DEFAULT, "float32")
        assert only.arguments == {"m": TensorSpec((4,), gradient=True)}
        assert only.origin == "operation:test_engine.some_rule"

    def test_a_configuration_says_why_and_in_which_phase(self):
        families = Families()
        x = tensor(4)
        families.operation("flip")(
            family({"x": x, WHY: "an image"}, {"x": x, WHY: "again"}, {"x": x, PHASE: "train"})
        )
        asked = operator("fliplr", parameter("m"))
        chosen = rules(families, OPERATIONS={"fliplr": use("flip", "x=m", axis=1)})
        found = inputs_for(asked, chosen, DEFAULT, "float32")
        assert [(one.why, one.phase) for one in found] == [
            ("an image", "predict"),
            ("A rule for tests", "train"),
        ]
        assert all(one.arguments.keys() == {"m"} for one in found)
        # Without a use of an operation.
        families.add("negative")(family({"x": x, WHY: "an image"}))
        (own,) = inputs_for(operator("negative", parameter("x")), chosen, DEFAULT, "float32")
        assert (own.why, own.phase, own.arguments.keys()) == ("an image", "predict", {"x"})

    def test_a_tag_without_a_meaning_is_an_error(self):
        made = {"x": tensor(4), TAGS: ("tiny", "tokns"), ROW: "rules.py:7"}
        with pytest.raises(RuleError, match=r"^rules\.py:7: no tag is called 'tokns'; did you mea"):
            read_configuration(made, "rule:test")
        assert read_configuration({**made, TAGS: ("tokens",)}, "rule:test").tags == ("tokens",)
        with pytest.raises(RuleError, match=r"^rules\.py:7: tags are a tuple, not 'tokens'"):
            read_configuration({**made, TAGS: "tokens"}, "rule:test")

    def test_a_role_that_the_operation_lacks_is_an_error(self):
        families = Families()
        families.operation("flip")(family({"x": tensor(4), "axes": 1}))
        chosen = rules(families, OPERATIONS={"flip": use("flip", "x axis")})
        asked = operator("flip", parameter("x"), parameter("axis"))
        with pytest.raises(RuleError, match=r"\.py:\d+: .* flip has no role 'axes'; did you mean"):
            inputs_for(asked, chosen, DEFAULT, "float32")

    def test_an_operator_of_several_operations(self):
        families = Families()
        families.operation("relu", "tanh")(
            lambda operation, preset: [{"x": tensor(len(operation.name))}]
        )
        asked = operator("act", parameter("data"), parameter("kind"))
        uses = {"tanh": use("tanh", "x=data -kind"), "other": use("sigmoid", "x=data -kind")}
        by_default = use("tanh", "x=data")
        choice = Choice("kind", {None: by_default, "relu": use("relu", "x=data -kind"), **uses})
        chosen = rules(families, OPERATIONS={"act": choice})
        first, *others = arguments_of(inputs_for(asked, chosen, DEFAULT, "float32"))
        assert first == {"data": TensorSpec((4,), gradient=True)}
        assert others == [{**first, "kind": "relu"}, {**first, "kind": "tanh"}]
        # An older version without the argument.
        older = operator("act", parameter("data"))
        assert arguments_of(inputs_for(older, chosen, DEFAULT, "float32")) == [first]

    def test_lines_that_several_operations_share_name_the_choice(self):
        families = Families()
        families.operation("relu", "tanh")(
            family({"x": tensor(4), WHY: "a vector"}, {"x": tensor(1), **FEW})
        )
        uses = {name: use(name, "x=data -kind") for name in ("relu", "tanh")}
        chosen = rules(families, OPERATIONS={"act": Choice("kind", uses)})
        asked = operator("act", parameter("data"), parameter("kind"))
        made = inputs_for(asked, chosen, DEFAULT, "float32")
        assert [one.why for one in made] == ["kind=relu: a vector", DISPATCH, "kind=tanh: a vector"]

    def test_a_framework_without_gradients(self):
        families = Families()
        families.operation("gradient")(
            family({"spacing": tensors([tensor(2), tensor(3)]), "x": tensor(4)})
        )
        asked = operator("grad", parameter("args", Kind.TENSORS), parameter("x"))
        table = {"grad": use("gradient", "spacing=args x")}
        chosen = rules(families, OPERATIONS=table, GRADIENTS=False)
        (made,) = inputs_for(asked, chosen, DEFAULT, "float32")
        assert made.arguments == {
            "args": (TensorSpec((2,)), TensorSpec((3,))),
            "x": TensorSpec((4,)),
        }

    def test_a_frameworks_own_family_by_role(self):
        table = {"op": use("flip", "x=data"), "add": use("add", "x y")}

        def own(operation, preset):
            yield {"x": f"{operation.name} {preset.name}"}
            yield {"x": 1, "axis": 1}

        asked = operator("op", parameter("data"))
        assert [inputs_of(one) for one in arguments_by_role(asked, table, own, DEFAULT)] == [
            {"data": "flip default"}
        ]
        assert list(arguments_by_role(operator("other"), table, own, DEFAULT)) == []

    @pytest.mark.parametrize("asked", [operator("op"), operator("x", aliases=("op",))])
    def test_operators_that_are_not_benchmarked(self, asked):
        families = Families()
        families.add("op", "x")(family({}))
        chosen = rules(families, NOT_BENCHMARKED={"op": "a placeholder"})
        assert inputs_for(asked, chosen, DEFAULT, "float32") == NoInputs("a placeholder")

    def test_train_phase_by_any_name(self):
        chosen = rules(table={("data", Kind.TENSOR): [tensor(9)]}, TRAIN_PHASE={"Dropout"})

        def phase(asked):
            return inputs_for(asked, chosen, DEFAULT, "float32")[0].phase

        assert phase(operator("Dropout")) == "train"
        assert phase(operator("x", aliases=("Dropout",))) == "train"
        assert phase(operator("relu")) == "predict"

    def test_what_a_search_found_counts_where_no_rule_has_anything(self):
        found = {"data": tensor(5)}
        (made,) = inputs_for(operator(), rules(TRAIN_PHASE={"op"}), DEFAULT, "float64", found)
        assert made == Inputs(
            {"data": TensorSpec((5,), "float64", gradient=True)}, SEARCH, "train", FOUND
        )

    def test_without_a_search_the_reason_says_that_it_could_be_searched(self):
        made = inputs_for(operator(), rules(), DEFAULT, "float32")
        assert isinstance(made, NoInputs) and made.searchable

    def test_a_rule_comes_before_what_a_search_found(self):
        chosen = rules(table={("data", Kind.TENSOR): [tensor(9)]})
        (made,) = inputs_for(operator(), chosen, DEFAULT, "float32", {"data": tensor(5)})
        assert (made.arguments["data"].shape, made.origin) == ((9,), "table:names")

    def test_a_familys_reason_stands_whatever_a_search_found(self):
        families = Families()
        families.add("op")(lambda operator, preset: NoInputs("needs a file"))
        found = {"data": tensor(5)}
        assert inputs_for(operator(), rules(families), DEFAULT, "float32", found) == NoInputs(
            "needs a file"
        )

    @pytest.mark.parametrize(
        ("made", "field"),
        [
            (Inputs({}, "rule"), "phase"),
            (NoInputs("none"), "reason"),
            (Fuzz(1), "count"),
            (SearchResult(), "reason"),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_what_is_handed_from_one_to_the_next_is_not_changed_on_the_way(self, made, field):
        with pytest.raises(AttributeError):
            setattr(made, field, "other")

    def test_a_rules_module_is_found_by_its_path(self):
        from opperf.rules import numpy

        assert rules_module("opperf.rules.numpy") is numpy


class TestUnderOwnNames:
    """A wrapper has parameters and no namespace, as `np.sum` has."""

    ARRAY, OTHER = tensor(2, 3), tensor(4)

    @staticmethod
    def wrapper(*names):
        return Operator(
            framework="fake",
            namespace="",
            name="wrapper",
            parameters=tuple(parameter(name) for name in names),
        )

    def test_tensors_take_the_wrappers_names_in_their_order(self):
        arguments = {"lhs": self.ARRAY, "axis": 1, "rhs": self.OTHER}
        own = rename_arguments(self.wrapper("x1", "x2", "axis"), arguments)
        assert own == {"x1": self.ARRAY, "x2": self.OTHER, "axis": 1}

    def test_a_name_that_the_wrapper_has_stays(self):
        arguments = {"weights": self.ARRAY, "data": self.OTHER}
        own = rename_arguments(self.wrapper("data", "weights"), arguments)
        assert own == {"weights": self.ARRAY, "data": self.OTHER}

    def test_a_list_of_tensors_is_a_tensor_and_a_tuple_of_numbers_is_a_plain_value(self):
        arguments = {"args": tensors([self.ARRAY, self.OTHER]), "axes": (0, 1)}
        own = rename_arguments(self.wrapper("arrays", "axis"), arguments)
        assert own == {"arrays": (self.ARRAY, self.OTHER)}

    def test_plain_values_that_it_does_not_take_are_left_out(self):
        arguments = {"data": self.ARRAY, "num_args": 1, "keepdims": True}
        own = rename_arguments(self.wrapper("a", "keepdims"), arguments)
        assert own == {"a": self.ARRAY, "keepdims": True}

    def test_more_tensors_than_it_has_names_keep_theirs(self):
        arguments = {"first": self.ARRAY, "second": self.OTHER}
        own = rename_arguments(self.wrapper("a"), arguments)
        assert own == {"a": self.ARRAY, "second": self.OTHER}

    @pytest.mark.parametrize(
        "other",
        [
            operator("registered", parameter("a")),
            Operator(framework="fake", namespace="", name="opaque"),
        ],
        ids=["a registered operator", "a function that does not tell its parameters"],
    )
    def test_others_are_given_the_names_of_the_rule(self, other):
        arguments = {"lhs": self.ARRAY, "num_args": 1}
        assert rename_arguments(other, arguments) == arguments


class TestByNames:
    def test_name_and_kind_must_both_fit(self):
        asked = operator("op", parameter("data"), parameter("axis", Kind.INT))
        table = {
            ("data", Kind.TENSOR): [tensor(4)],
            ("axis", Kind.SHAPE): [(0, 1)],
            ("axis", Kind.INT): [1],
        }
        assert from_table(asked, rules(table=table), DEFAULT) == [{"data": tensor(4), "axis": 1}]

    def test_the_shorter_list_of_alternatives_repeats_its_last(self):
        asked = operator(
            "op", parameter("data"), parameter("axis", Kind.INT), parameter("mode", Kind.STRING)
        )
        table = {
            ("data", Kind.TENSOR): [tensor(1), tensor(2)],
            ("axis", Kind.INT): [0, 1, 2],
            ("mode", Kind.STRING): ["a"],
        }
        assert from_table(asked, rules(table=table), DEFAULT) == [
            {"data": tensor(1), "axis": 0, "mode": "a"},
            {"data": tensor(2), "axis": 1, "mode": "a"},
            {"data": tensor(2), "axis": 2, "mode": "a"},
        ]

    def test_what_is_not_required_is_left_out(self):
        asked = operator("op", parameter("data"), parameter("axis", Kind.INT, required=False))
        table = {("data", Kind.TENSOR): [tensor(4)], ("axis", Kind.INT): [1]}
        assert from_table(asked, rules(table=table), DEFAULT) == [{"data": tensor(4)}]

    def test_optional_tensors_are_left_out(self):
        asked = operator("op", parameter("data"), parameter("bias"))
        table = {("data", Kind.TENSOR): [tensor(4)]}
        chosen = rules(table=table, OPTIONAL_TENSORS={"bias"})
        assert from_table(asked, chosen, DEFAULT) == [{"data": tensor(4)}]

    def test_missing_values_are_named_with_their_kinds(self):
        asked = operator(
            "op",
            parameter("data"),
            parameter("grid"),
            parameter("steps", Kind.INT),
            parameter("eps", Kind.FLOAT, False),
        )
        chosen = rules(table={("data", Kind.TENSOR): [tensor(4)], ("steps", Kind.FLOAT): [1.0]})
        assert from_table(asked, chosen, DEFAULT) == NoInputs(
            "no rule has a value for grid (tensor), steps (int)", searchable=True
        )

    def test_an_operator_without_tensors_needs_a_rule(self):
        asked = operator("zeros", parameter("shape", Kind.SHAPE))
        made = from_table(asked, rules(table={("shape", Kind.SHAPE): [(1,)]}), DEFAULT)
        assert made == NoInputs(
            "it takes no tensor, and no rule has arguments for it", searchable=True
        )


class TestRequested:
    def test_the_dtype_is_put_in_for_an_argument_that_is_one(self):
        made = {"dtype": DType(REQUESTED), "kept": DType("float16")}
        assert with_dtype(operator(), made, "bfloat16") == {
            "dtype": DType("bfloat16"),
            "kept": DType("float16"),
        }

    @pytest.mark.parametrize(
        "dtype, gradient",
        [
            ("float16", True),
            ("float32", True),
            ("float64", True),
            ("bfloat16", True),
            ("int8", False),
            ("uint8", False),
            ("int32", False),
            ("int64", False),
            ("bool", False),
        ],
    )
    def test_the_dtype_is_put_in_and_whole_numbers_have_no_gradient(self, dtype, gradient):
        made = with_dtype(operator(), {"data": tensor(2, 3)}, dtype)
        assert made == {"data": TensorSpec((2, 3), dtype, gradient=gradient)}

    def test_a_dtype_the_rule_chose_stays(self):
        arguments = {
            "index": fixed(4, fill=below(10), dtype="int64"),
            "data": tensor(4, dtype="float64"),
        }
        made = with_dtype(operator(), arguments, "float16")
        assert made["index"] == TensorSpec((4,), "int64", Fill("integers", 0, 10))
        assert made["data"] == TensorSpec((4,), "float64", gradient=True)

    def test_a_tensor_that_wants_no_gradient_gets_none(self):
        assert not with_dtype(operator(), {"data": fixed(4)}, "float32")["data"].gradient

    def test_lists_and_plain_values(self):
        arguments = {
            "args": tensors([tensor(2), fixed(3, dtype="int32")]),
            "axis": (0, 1),
            "p": 0.5,
            "flag": None,
        }
        made = with_dtype(operator(), arguments, "float64")
        assert made == {
            "args": (TensorSpec((2,), "float64", gradient=True), TensorSpec((3,), "int32")),
            "axis": (0, 1),
            "p": 0.5,
            "flag": None,
        }

    def test_what_else_a_tensor_is_stays(self):
        spec = TensorSpec((4, 4), "", Fill("boxes", 1, 2), "csr", True, "np")
        made = with_dtype(operator(), {"data": spec}, "float64")["data"]
        assert made == TensorSpec((4, 4), "float64", Fill("boxes", 1, 2), "csr", True, "np")

    def test_an_operator_that_makes_its_output_is_told_the_dtype(self):
        maker = operator(
            "zeros",
            parameter("shape", Kind.SHAPE),
            parameter("dtype", Kind.ENUM, False, choices=("float16", "float32")),
        )
        assert with_dtype(maker, {"shape": (2,)}, "float16") == {"shape": (2,), "dtype": "float16"}
        assert with_dtype(maker, {"shape": (2,), "dtype": "int32"}, "float16")["dtype"] == "int32"

    @pytest.mark.parametrize(
        "dtype, wanted", [("float16", "float32"), ("float32", "float16"), ("int8", "float16")]
    )
    def test_of_several_dtypes_the_first_that_is_another(self, dtype, wanted):
        cast = operator("cast", parameter("data"), parameter("dtype", Kind.ENUM))
        arguments = {"data": tensor(2), "dtype": ("float16", "float32")}
        assert with_dtype(cast, arguments, dtype)["dtype"] == wanted

    @pytest.mark.parametrize(
        "parameters",
        [
            [parameter("shape", Kind.SHAPE), parameter("dtype", Kind.STRING, False)],
            [
                parameter("shape", Kind.SHAPE),
                parameter("dtype", Kind.ENUM, False, choices=("float32", "float64")),
            ],
            [parameter("shape", Kind.SHAPE)],
            [
                parameter("data"),
                parameter("dtype", Kind.ENUM, False, choices=("float16", "float32")),
            ],
        ],
        ids=["takes any word", "does not know this one", "takes none", "has inputs"],
    )
    def test_others_are_not(self, parameters):
        assert "dtype" not in with_dtype(operator("op", *parameters), {"shape": (2,)}, "float16")

    @pytest.mark.parametrize(
        "dtype, wanted",
        [
            ("float16", "float32"),
            ("bfloat16", "float32"),
            ("float32", "float32"),
            ("float64", "float64"),
        ],
    )
    def test_full_precision_beside_data_of_half(self, dtype, wanted):
        mean = fixed(4, dtype=AT_LEAST_SINGLE)
        assert with_dtype(operator(), {"mean": mean}, dtype)["mean"].dtype == wanted

    def test_the_rules_own_arguments_are_not_changed(self):
        arguments = {"data": tensor(2)}
        with_dtype(operator("zeros", parameter("dtype", Kind.ENUM)), arguments, "int8")
        assert arguments == {"data": tensor(2)}


class TestNeedsOutput:
    TABLE = {("data", Kind.TENSOR): [tensor(3, 4)], ("out", Kind.TENSOR): [tensor(9)]}

    @pytest.mark.parametrize("asked", [operator("copy"), operator("x", aliases=("copy",))])
    def test_gets_one_shaped_as_its_first_tensor(self, asked):
        chosen = rules(table=self.TABLE, NEEDS_OUTPUT={"copy"})
        (arguments,) = arguments_of(inputs_for(asked, chosen, DEFAULT, "float64"))
        assert arguments == {
            "data": TensorSpec((3, 4), "float64", gradient=True),
            OUTPUT: TensorSpec((3, 4), "float64", Fill("constant")),
        }

    def test_others_do_not(self):
        chosen = rules(table=self.TABLE, NEEDS_OUTPUT={"copy"})
        (arguments,) = arguments_of(inputs_for(operator("relu"), chosen, DEFAULT, "float32"))
        assert OUTPUT not in arguments

    def test_the_first_tensor_may_come_after_plain_values(self):
        families = Families()
        first = TensorSpec((2,), "int32", array_type="np")
        families.add("copy")(family({"axis": 0, "data": first, "other": tensor(5)}))
        chosen = rules(families, NEEDS_OUTPUT={"copy"})
        (arguments,) = arguments_of(inputs_for(operator("copy"), chosen, DEFAULT, "float32"))
        assert arguments[OUTPUT] == TensorSpec((2,), "int32", Fill("constant"), array_type="np")

    def test_one_the_rule_made_is_kept(self):
        families = Families()
        families.add("copy")(family({"data": tensor(2), OUTPUT: fixed(5)}))
        chosen = rules(families, NEEDS_OUTPUT={"copy"})
        (arguments,) = arguments_of(inputs_for(operator("copy"), chosen, DEFAULT, "float32"))
        assert arguments[OUTPUT] == TensorSpec((5,))
