"""From an operator to its inputs: which rule is taken, and what is put into what it made."""

from types import SimpleNamespace

import pytest

from opperf.model import Fill, Kind, Operator, Parameter, TensorSpec
from opperf.rules.engine import (
    OUTPUT,
    Families,
    Inputs,
    NoInputs,
    by_names,
    inputs_for,
    requested,
)
from opperf.rules.sizes import PRESETS
from opperf.rules.values import below, fixed, tensor, tensors

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
            "OPTIONAL_TENSORS": frozenset(),
            "TRAIN_MODE": frozenset(),
            "NEEDS_OUTPUT": frozenset(),
            "NOT_BENCHMARKED": {},
        }
        | others
    )


def family(*made):
    def some_rule(operator, preset):
        return list(made)

    return some_rule


def arguments_of(made):
    assert not isinstance(made, NoInputs), made
    return [inputs.arguments for inputs in made]


class TestFamilies:
    def test_are_found_by_name_alias_and_category(self):
        families = Families()
        named = families.add("conv", "deconv")(family())
        by_category = families.category("unary", "reduction")(family())
        assert families.find(operator("conv")) is named
        assert families.find(operator("deconv")) is named
        assert families.find(operator("other", aliases=("x", "conv"))) is named
        assert families.find(operator("sum", category="reduction")) is by_category
        assert families.find(operator("conv", category="unary")) is named
        assert families.find(operator("other", category="loss")) is None
        assert families.find(operator("other")) is None

    def test_the_decorator_leaves_the_function_as_it_is(self):
        rule = family()
        assert Families().add("a")(rule) is rule
        assert Families().category("a")(rule) is rule

    def test_two_for_one_are_refused(self):
        families = Families()
        families.add("conv")(family())
        families.category("conv")(family())
        with pytest.raises(ValueError, match="two families for the operator 'conv'"):
            families.add("pool", "conv")(family())
        with pytest.raises(ValueError, match="two families for the category 'conv'"):
            families.category("conv")(family())

    def test_merge(self):
        one, other, clash = Families(), Families(), Families()
        first = one.add("a")(family())
        second = other.add("b")(family())
        third = other.category("c")(family())
        one.merge(other)
        assert one.find(operator("a")) is first
        assert one.find(operator("b")) is second
        assert one.find(operator("x", category="c")) is third
        assert other.find(operator("a")) is None
        clash.add("b")(family())
        with pytest.raises(ValueError, match="two families for the operator 'b'"):
            one.merge(clash)


class TestInputsFor:
    def test_a_family_comes_before_the_table(self):
        families = Families()
        families.add("op")(family({"data": tensor(2)}, {"data": tensor(3)}))
        chosen = rules(families, {("data", Kind.TENSOR): [tensor(9)]})
        made = inputs_for(operator(), chosen, DEFAULT, "float32")
        assert made == [
            Inputs({"data": TensorSpec((extent,), gradient=True)}, "rule:test_engine.some_rule")
            for extent in (2, 3)
        ]

    def test_the_table_is_for_the_rest(self):
        chosen = rules(table={("data", Kind.TENSOR): [tensor(9)]})
        (made,) = inputs_for(operator(), chosen, DEFAULT, "float32")
        assert made.arguments == {"data": TensorSpec((9,), gradient=True)}
        assert made.origin == "table:names"

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

    @pytest.mark.parametrize("asked", [operator("op"), operator("x", aliases=("op",))])
    def test_operators_that_are_not_benchmarked(self, asked):
        families = Families()
        families.add("op", "x")(family({}))
        chosen = rules(families, NOT_BENCHMARKED={"op": "a placeholder"})
        assert inputs_for(asked, chosen, DEFAULT, "float32") == NoInputs("a placeholder")

    def test_train_mode_by_any_name(self):
        chosen = rules(table={("data", Kind.TENSOR): [tensor(9)]}, TRAIN_MODE={"Dropout"})

        def mode(asked):
            return inputs_for(asked, chosen, DEFAULT, "float32")[0].mode

        assert mode(operator("Dropout")) == "train"
        assert mode(operator("x", aliases=("Dropout",))) == "train"
        assert mode(operator("relu")) == "predict"


class TestByNames:
    def test_name_and_kind_must_both_fit(self):
        asked = operator("op", parameter("data"), parameter("axis", Kind.INT))
        table = {
            ("data", Kind.TENSOR): [tensor(4)],
            ("axis", Kind.SHAPE): [(0, 1)],
            ("axis", Kind.INT): [1],
        }
        assert by_names(asked, rules(table=table), DEFAULT) == [{"data": tensor(4), "axis": 1}]

    def test_the_shorter_list_of_alternatives_repeats_its_last(self):
        asked = operator(
            "op", parameter("data"), parameter("axis", Kind.INT), parameter("mode", Kind.STRING)
        )
        table = {
            ("data", Kind.TENSOR): [tensor(1), tensor(2)],
            ("axis", Kind.INT): [0, 1, 2],
            ("mode", Kind.STRING): ["a"],
        }
        assert by_names(asked, rules(table=table), DEFAULT) == [
            {"data": tensor(1), "axis": 0, "mode": "a"},
            {"data": tensor(2), "axis": 1, "mode": "a"},
            {"data": tensor(2), "axis": 2, "mode": "a"},
        ]

    def test_what_is_not_required_is_left_out(self):
        asked = operator("op", parameter("data"), parameter("axis", Kind.INT, required=False))
        table = {("data", Kind.TENSOR): [tensor(4)], ("axis", Kind.INT): [1]}
        assert by_names(asked, rules(table=table), DEFAULT) == [{"data": tensor(4)}]

    def test_optional_tensors_are_left_out(self):
        asked = operator("op", parameter("data"), parameter("bias"))
        table = {("data", Kind.TENSOR): [tensor(4)]}
        chosen = rules(table=table, OPTIONAL_TENSORS={"bias"})
        assert by_names(asked, chosen, DEFAULT) == [{"data": tensor(4)}]

    def test_missing_values_are_named_with_their_kinds(self):
        asked = operator(
            "op",
            parameter("data"),
            parameter("grid"),
            parameter("steps", Kind.INT),
            parameter("eps", Kind.FLOAT, False),
        )
        chosen = rules(table={("data", Kind.TENSOR): [tensor(4)], ("steps", Kind.FLOAT): [1.0]})
        assert by_names(asked, chosen, DEFAULT) == NoInputs(
            "no rule gives a value for grid (tensor), steps (int)", searchable=True
        )

    def test_an_operator_without_tensors_needs_a_rule(self):
        asked = operator("zeros", parameter("shape", Kind.SHAPE))
        made = by_names(asked, rules(table={("shape", Kind.SHAPE): [(1,)]}), DEFAULT)
        assert made == NoInputs(
            "it takes no tensor, and no rule says what it should make", searchable=True
        )


class TestRequested:
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
        made = requested(operator(), {"data": tensor(2, 3)}, dtype)
        assert made == {"data": TensorSpec((2, 3), dtype, gradient=gradient)}

    def test_a_dtype_the_rule_chose_stays(self):
        arguments = {
            "index": fixed(4, fill=below(10), dtype="int64"),
            "data": tensor(4, dtype="float64"),
        }
        made = requested(operator(), arguments, "float16")
        assert made["index"] == TensorSpec((4,), "int64", Fill("integers", 0, 10))
        assert made["data"] == TensorSpec((4,), "float64", gradient=True)

    def test_a_tensor_that_wants_no_gradient_gets_none(self):
        assert not requested(operator(), {"data": fixed(4)}, "float32")["data"].gradient

    def test_lists_and_plain_values(self):
        arguments = {
            "args": tensors([tensor(2), fixed(3, dtype="int32")]),
            "axis": (0, 1),
            "p": 0.5,
            "flag": None,
        }
        made = requested(operator(), arguments, "float64")
        assert made == {
            "args": (TensorSpec((2,), "float64", gradient=True), TensorSpec((3,), "int32")),
            "axis": (0, 1),
            "p": 0.5,
            "flag": None,
        }

    def test_what_else_a_tensor_is_stays(self):
        spec = tensor(4, 4, fill=Fill("boxes", 1, 2), layout="csr")
        made = requested(operator(), {"data": spec}, "float32")["data"]
        assert (made.shape, made.fill, made.layout) == ((4, 4), Fill("boxes", 1, 2), "csr")

    def test_an_operator_that_makes_its_output_is_told_the_dtype(self):
        maker = operator(
            "zeros",
            parameter("shape", Kind.SHAPE),
            parameter("dtype", Kind.ENUM, False, choices=("float16", "float32")),
        )
        assert requested(maker, {"shape": (2,)}, "float16") == {"shape": (2,), "dtype": "float16"}
        assert requested(maker, {"shape": (2,), "dtype": "int32"}, "float16")["dtype"] == "int32"

    @pytest.mark.parametrize(
        "dtype, wanted", [("float16", "float32"), ("float32", "float16"), ("int8", "float16")]
    )
    def test_of_several_dtypes_the_first_that_is_another(self, dtype, wanted):
        cast = operator("cast", parameter("data"), parameter("dtype", Kind.ENUM))
        arguments = {"data": tensor(2), "dtype": ("float16", "float32")}
        assert requested(cast, arguments, dtype)["dtype"] == wanted

    def test_an_operator_with_inputs_is_not(self):
        cast = operator("cast", parameter("data"), parameter("dtype", Kind.ENUM, False))
        assert "dtype" not in requested(cast, {"data": tensor(2)}, "float16")

    def test_the_rules_own_arguments_are_not_changed(self):
        arguments = {"data": tensor(2)}
        requested(operator("zeros", parameter("dtype", Kind.ENUM)), arguments, "int8")
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

    def test_one_the_rule_made_is_kept(self):
        families = Families()
        families.add("copy")(family({"data": tensor(2), OUTPUT: fixed(5)}))
        chosen = rules(families, NEEDS_OUTPUT={"copy"})
        (arguments,) = arguments_of(inputs_for(operator("copy"), chosen, DEFAULT, "float32"))
        assert arguments[OUTPUT] == TensorSpec((5,))
