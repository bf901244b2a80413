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
    is_whole,
    kind_of,
)

NUMPY_KINDS = {
    "f": "float",
    "i": "integer",
    "u": "integer",
    "b": "bool",
    "c": "complex",
    "M": "date",
}

KNOWN_TO_NUMPY = sorted(set(DTYPES) - {"bfloat16"})


@pytest.mark.parametrize("name", KNOWN_TO_NUMPY)
def test_bytes_and_kinds_are_numpys(name):
    dtype = np.dtype(name)
    assert element_bytes(name) == dtype.itemsize
    assert kind_of(name) == NUMPY_KINDS[dtype.kind]
    assert DTYPES[name].signed == (dtype.kind not in "ub")


def test_what_numpy_has_not():
    assert element_bytes("bfloat16") == 2
    assert kind_of("bfloat16") == "float"


def test_an_unknown_dtype():
    assert element_bytes("float7") == USUAL_BYTES == 4
    assert kind_of("float7") is None
    assert not is_floating("float7") and not is_whole("float7")
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
        *("float16", "float32", "float64", "bfloat16")
    }
    assert {name for name in DTYPES if not is_floating(name) and not is_whole(name)} == {
        *("complex64", "complex128", "datetime64[D]")
    }
    assert HALF_PRECISION == ("float16", "bfloat16")
