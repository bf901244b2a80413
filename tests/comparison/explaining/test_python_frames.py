"""Which functions are the interpreter's own."""

import pytest

from opperf.comparison.explaining.functions import Function
from opperf.comparison.explaining.python_frames import is_python_frame


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("type_call", "libpython3.11.so.1.0"),
        ("type_call", "libpython3.13t.so.1.0"),
        ("type_call", "python3.12"),
        ("type_call", "python"),
        ("_PyEval_EvalFrameDefault", "???"),
        ("_PyEval_EvalFrameDefault.cold", "???"),
        ("PyObject_Vectorcall", "libtorch_python.so"),
        ("_Py_Dealloc", "_ext.so"),
    ],
)
def test_the_interpreters_own(name, where):
    assert is_python_frame(Function(name, where))


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("PyArray_NewFromDescr", "_multiarray_umath.so"),
        ("PyUFunc_GenericReduction", "_multiarray_umath.so"),
        ("PyTorchStreamReader::getRecord(char const*)", "libtorch_cpu.so"),
        ("pybind11::cpp_function::dispatcher(_object*)", "libtorch_python.so"),
        ("THPVariable_add", "libtorch_python.so"),
        ("free", "libc.so.6"),
        ("f", "pythonic.cpp.so"),
    ],
)
def test_others(name, where):
    assert not is_python_frame(Function(name, where))
