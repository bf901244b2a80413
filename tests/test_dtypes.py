"""The table of dtypes, beside NumPy's own figures."""

import numpy as np
import pytest

from opperf.dtypes import (
    DTYPES,
    HALF_PRECISION,
    USUAL_BYTES,
    canonical,
    element_bytes,
    is_floating,
    is_integer,
    kind_of,
)

NUMPY_KINDS = {
    "f": "float",
    "i": "integer",
    "u": "integer",
    "b": "bool",
    "c": "complex",
    "M": "date",
    "U": "text",
    "S": "text",
}

UNKNOWN_TO_NUMPY = {
    "bfloat16": (2, "float"),
    "float8_e4m3fn": (1, "float"),
    "float8_e4m3fnuz": (1, "float"),
    "float8_e5m2": (1, "float"),
    "float8_e5m2fnuz": (1, "float"),
    "float8_e3m4": (1, "float"),
    "float8_e4m3": (1, "float"),
    "float8_e4m3b11fnuz": (1, "float"),
    "float8_e8m0fnu": (1, "float"),
    "float4_e2m1fn": (1, "float"),
    "float4_e2m1fn_x2": (1, "float"),
    "int2": (1, "integer"),
    "uint2": (1, "integer"),
    "int4": (1, "integer"),
    "uint4": (1, "integer"),
    "complex32": (4, "complex"),
    # Before NumPy 2.
    "T": (16, "text"),
}
KNOWN_TO_NUMPY = sorted(set(DTYPES) - set(UNKNOWN_TO_NUMPY))


@pytest.mark.parametrize("name", KNOWN_TO_NUMPY)
def test_bytes_and_kinds_are_numpys(name):
    dtype = np.dtype(name)
    assert element_bytes(name) == dtype.itemsize
    assert kind_of(name) == NUMPY_KINDS[dtype.kind]
    assert DTYPES[name].signed == (dtype.kind not in "ub")


@pytest.mark.parametrize("name, facts", UNKNOWN_TO_NUMPY.items())
def test_what_numpy_has_not(name, facts):
    assert (element_bytes(name), kind_of(name)) == facts


def test_an_unknown_dtype():
    assert element_bytes("float7") == USUAL_BYTES == 4
    assert kind_of("float7") is None
    assert not is_floating("float7") and not is_integer("float7")
    assert canonical("Float7") == "float7"


@pytest.mark.parametrize("name", DTYPES)
def test_every_name_of_a_dtype_is_understood(name):
    dtype = DTYPES[name]
    for alias in (dtype.short, *dtype.aliases):
        assert canonical(alias) == canonical(alias.upper()) == name


@pytest.mark.parametrize(
    ("alias", "name"), [("half", "float16"), ("bf16", "bfloat16"), ("fp32", "float32")]
)
def test_usual_words_for_dtypes(alias, name):
    assert canonical(alias) == name


def test_no_two_dtypes_share_a_name():
    names = [alias for one in DTYPES.values() for alias in (one.name, one.short, *one.aliases)]
    assert len(names) == len(set(names))


def test_kinds():
    assert {name for name in DTYPES if is_floating(name)} == {
        *("float16", "float32", "float64", "bfloat16"),
        *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
        *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e8m0fnu", "float4_e2m1fn"),
        "float4_e2m1fn_x2",
    }
    assert {name for name in DTYPES if not is_floating(name) and not is_integer(name)} == {
        *("complex32", "complex64", "complex128", "datetime64[D]"),
        *("<U16", "<U128", "S16", "T"),
    }
    assert (
        *("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
        *("float8_e4m3fnuz", "float8_e5m2fnuz"),
        *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e8m0fnu", "float4_e2m1fn"),
        "float4_e2m1fn_x2",
    ) == HALF_PRECISION
