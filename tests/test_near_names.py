"""Names that a word may mean."""

import pytest

from opperf.near_names import nearest

OPERATORS = (
    *("Convolution", "Convolution_v1", "Deconvolution", "_contrib_quantized_conv", "concat"),
    *("BatchNorm", "_npx_batch_norm", "LayerNorm", "norm", "Pooling", "relu", "RNN", "_cond"),
    *("nd.add", "np.add", "broadcast_add", "elemwise_add", "add_n", "_npi_add", "pad", "sum"),
    *("broadcast_div", "softmax", "Softmax", "_npi_matmul", "cosh"),
)


@pytest.mark.parametrize(
    "word, found",
    [
        # All of a name, in another case or with other separators.
        ("batch_norm", ["BatchNorm"]),
        ("RELU", ["relu"]),
        ("SOFTMAX", ["Softmax", "softmax"]),
        # A part: its end, its beginning, anywhere.
        ("add", ["nd.add", "np.add", "elemwise_add", "broadcast_add", "add_n"]),
        ("conv", ["Convolution", "Convolution_v1", "Deconvolution"]),
        ("volution", ["Convolution", "Deconvolution", "Convolution_v1"]),
        ("norm", ["norm", "BatchNorm", "LayerNorm"]),
        # A few letters are in too many names.
        ("ad", ["add_n"]),
        ("std", []),
        # Internal names are for who asks for them, or where there are no others.
        ("matmul", ["_npi_matmul"]),
        ("_npi_ad", ["_npi_add"]),
        # Misspelt.
        ("rleu", ["relu"]),
        ("batch_nrm", ["BatchNorm"]),
        ("runn", ["RNN"]),
        # A part of the word.
        ("conv2d", ["Convolution", "Convolution_v1", "Deconvolution"]),
        ("max_pool2d", ["Pooling"]),
        ("reduce_sum", ["sum"]),
        # Nothing.
        ("zzz", []),
        ("nosuch", []),
        ("", []),
        ("***", []),
    ],
)
def test_near_names(word, found):
    assert nearest(word, OPERATORS, 5) == found


def test_the_likeliest_come_first_and_no_more_than_the_limit():
    assert nearest("add", OPERATORS, 2) == ["nd.add", "np.add"]
    assert nearest("add", ["add_n", *OPERATORS, "add_n"], 9).count("add_n") == 1


@pytest.mark.parametrize(
    "word, known, found",
    [
        ("lsh", ["lhs", "rhs"], "lhs"),
        ("flaot32", ["float16", "float32", "bfloat16", "int32"], "float32"),
        ("--dtyp", ["--dtype", "--id", "--retry"], "--dtype"),
        ("unry", ["unary", "binary"], "unary"),
        ("FLOAT16", ["float16", "float32"], "float16"),
    ],
)
def test_other_kinds_of_names(word, known, found):
    assert nearest(word, known) == [found]
