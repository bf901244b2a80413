"""Patterns, and the groups that operators are in."""

import numpy
import pytest

from opperf.errors import UnknownOperatorError, UsageError
from opperf.frameworks import load
from opperf.model import Operator, Settings
from opperf.sources.registry import plan
from opperf.sources.selecting import (
    Selection,
    check_known,
    find_matching,
    is_path,
    make_matcher,
    select,
)


def operator(name, category="unary", namespaces=("nd",), aliases=()):
    return Operator("fake", namespaces[0], name, aliases, namespaces, category=category)


OPERATORS = (
    operator("relu"),
    operator("add", "binary", ("nd", "np"), aliases=("_plus", "elemwise.add")),
    operator("dot", "gemm", ("np",)),
)

PYTHON = Settings(profiler="python")


def names(**selected):
    return [one.name for one in select(OPERATORS, Selection(**selected))]


@pytest.mark.parametrize(
    "pattern, path", [("fake.np.relu", True), ("relu", False), ("re:a.b", False), ("np.*", False)]
)
def test_a_dotted_name_may_be_a_path(pattern, path):
    assert is_path(pattern) is path


def test_an_expression_that_is_empty_is_refused():
    with pytest.raises(UsageError, match="'re:' has no expression; write it after"):
        make_matcher("re:", OPERATORS)


@pytest.mark.parametrize(
    "pattern, found",
    [
        ("_plus", ["add"]),
        ("elemwise.*", ["add"]),
        ("elemwise.add", ["add"]),
        ("?dd", ["add"]),
        ("[dr]*", ["relu", "dot"]),
        ("ADD*", ["add"]),
        ("ADD", ["add"]),
        ("re:^D", ["dot"]),
        ("Elemwise.ADD", ["add"]),
        ("re:^d", ["dot"]),
        ("re:d", ["add", "dot"]),
        ("ad", []),
    ],
)
def test_patterns_fit_any_of_an_operators_names(pattern, found):
    assert [one.name for one in find_matching(pattern, OPERATORS)] == found


def test_no_pattern_is_all_and_every_condition_counts():
    assert names() == ["relu", "add", "dot"]
    assert names(categories=("gemm", "unary")) == ["relu", "dot"]
    assert names(namespaces=("np",)) == ["add", "dot"]
    assert names(categories=("binary",), namespaces=("np",)) == ["add"]
    assert names(categories=("unary",), namespaces=("np",)) == []
    assert names(patterns=("dot", "relu")) == ["relu", "dot"]
    assert names(exclude=("d*", "re:plus$")) == ["relu"]


@pytest.mark.parametrize(
    "selected, words",
    [
        ({"patterns": ("relu", "dott")}, "^no operator is called 'dott'; did you mean dot"),
        ({"exclude": ("dott",)}, "^--exclude: no operator is called 'dott'; did you mean dot"),
    ],
)
def test_a_pattern_that_fits_nothing(selected, words):
    with pytest.raises(UnknownOperatorError, match=words):
        names(**selected)


def test_a_word_that_is_not_known_is_told_with_those_that_are():
    check_known("size", ("small",), ("large", "small"))
    with pytest.raises(
        UsageError, match="unknown size 'smal'; did you mean small.*known: large, s"
    ):
        check_known("size", ("large", "smal"), ("large", "small"))
    with pytest.raises(UsageError, match="unknown category 'x'"):
        names(categories=("unary", "x"))
    with pytest.raises(UsageError, match="unknown namespace 'x'"):
        names(namespaces=("x",))


def test_an_exact_name_matches_no_other_case():
    both = [
        Operator(framework="fake", namespace="nd", name=name) for name in ("Softmax", "softmax")
    ]

    def found(pattern):
        return [one.name for one in find_matching(pattern, both)]

    assert found("Softmax") == ["Softmax"] and found("softmax") == ["softmax"]
    assert found("SOFTMAX") == found("soft*") == found("re:^softmax$") == ["Softmax", "softmax"]


@pytest.mark.parametrize(
    "pattern, advice",
    [
        ("gemm", "--category gemm"),
        ("GEMMs", "--category gemm"),
        ("np", "--namespace np"),
        ("rel", "relu"),
        ("Elemwise_Add", "elemwise.add"),
        ("multiply", "nd.multiply, np.multiply, np.matrix_multiply"),
        ("addd", "add"),
        ("plus", "np.plus"),
    ],
)
def test_what_an_unknown_name_may_mean(pattern, advice):
    functions = ("np.multiply", "nd.multiply", "np.matrix_multiply", "np.add", "np.relu", "np.plus")
    with pytest.raises(UnknownOperatorError) as unknown:
        select(OPERATORS, Selection(patterns=(pattern,)), functions)
    assert str(unknown.value) == f"no operator is called {pattern!r}; did you mean {advice}?"


def test_a_group_of_the_other_kind_is_named():
    with pytest.raises(UsageError, match="no category is called 'np'; .* --namespace np"):
        names(categories=("np",))
    with pytest.raises(UsageError, match="no namespace is called 'gemm'; .* --category gemm"):
        names(namespaces=("gemm",))


def test_a_tag_selects_forms_that_write_where_the_plain_one_has_not_the_tag():
    def tagged(name, *tags, aliases=(), **others):
        return Operator("fake", "nd", name, aliases, ("nd",), tags=tags, **others)

    writes = {"variants": ("in-place",)}
    operators = (
        tagged("sqrt", "pointwise"),
        tagged("sqrt_", "pointwise", "writing", aliases=("sqrt",), **writes),
        tagged("resize"),
        tagged("resize_", "core", "writing", aliases=("resize",), **writes),
        tagged("_softmax", "core", variants=("internal",)),
        tagged("rare_", "core", on_request=True, **writes),
    )

    def found(*tags, **selected):
        return [one.name for one in select(operators, Selection(tags=tags, **selected))]

    assert found("pointwise") == ["sqrt"]
    assert found("pointwise", variants=("in-place",)) == ["sqrt", "sqrt_"]
    assert found("core") == ["resize_", "_softmax"]
    assert found("writing") == ["sqrt_", "resize_"]
    assert found("core", namespaces=("nd",)) == ["resize_", "_softmax", "rare_"]
    assert found() == ["sqrt", "resize"]


OVERLOADS = [
    Operator(framework="torch", namespace="aten", name=name, overload=overload)
    for name, overload in (
        ("lt", "Scalar"),
        ("lt", "Tensor"),
        ("size", "int"),
        ("linalg_eigh", "default"),
    )
]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("lt.int", "did you mean lt.Tensor, lt.Scalar?"),
        ("symeig", ": linalg_eigh has taken its place"),
        ("symeig.e", ": linalg_eigh has taken its place"),
        ("torch.symeig", ": linalg_eigh has taken its place"),
        # This version has nothing in its place.
        ("lstsq", "opperf list prints all operators"),
    ],
)
def test_an_operator_or_overload_that_is_gone(pattern, words):
    with pytest.raises(UnknownOperatorError) as unknown:
        select(OVERLOADS, Selection(patterns=(pattern,)), ["torch.symeig", "torch.lstsq"])
    assert words in str(unknown.value)
    assert "torch.lstsq" not in str(unknown.value)


@pytest.mark.parametrize(
    ("framework", "path", "words"),
    [
        ("torch", "torch.symeig", "symeig': linalg_eigh has taken its place"),
        ("torch", "torch.potrf", "potrf': cholesky has taken its place"),
        ("jax", "jnp.alltrue", "alltrue': jnp.all has taken its place"),
    ],
)
def test_a_function_that_is_gone(framework, path, words):
    pytest.importorskip(framework)
    with pytest.raises(UnknownOperatorError, match=words):
        plan(load(framework), Selection(patterns=(path,), settings=PYTHON))


@pytest.mark.skipif(not hasattr(numpy, "alltrue"), reason="this NumPy has no function that ends")
def test_a_function_that_is_still_there_is_measured():
    asked = Selection(patterns=("numpy.alltrue",), size="small", settings=PYTHON)
    assert plan(load("numpy"), asked).cases
