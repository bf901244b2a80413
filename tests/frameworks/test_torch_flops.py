"""Operations of calls of PyTorch by their formulas, beside those of the shapes."""

import pytest

torch = pytest.importorskip("torch")

from opperf.frameworks.torch.flops import COUNTING, FlopCounter  # noqa: E402

F = torch.nn.functional
ROWS = torch.randn(2, 5, 16)
HEADS = torch.randn(2, 4, 16, 32)


def flops(call, gradients=False):
    counter = FlopCounter()
    with torch.set_grad_enabled(gradients), counter:
        call()
    return counter.flops


LAYER = 2 * 10 * (4 * 16 * 16 + 2 * 16 * 24) + 4 * 160 * 5
"""Of a layer of an encoder, of width 16, with 24 hidden, for 2 sentences of 5."""

ENCODER = torch.nn.TransformerEncoderLayer(16, 2, 24, batch_first=True).eval()
ATTENTION = torch.nn.MultiheadAttention(16, 2, batch_first=True).eval()
LSTM = torch.nn.LSTM(8, 16, 2)
BOTH_WAYS = torch.nn.LSTM(8, 16, bidirectional=True, proj_size=4)
SEQUENCE = torch.randn(5, 3, 8)


@pytest.mark.parametrize(
    "call, count",
    [
        (lambda: F.scaled_dot_product_attention(HEADS, HEADS, HEADS), 4 * 2 * 4 * 16 * 16 * 32),
        (lambda: LSTM(SEQUENCE), 2 * 15 * 64 * (8 + 16 + 16 + 16)),
        (lambda: BOTH_WAYS(SEQUENCE), 2 * 2 * 15 * (64 * 8 + 64 * 4 + 4 * 16)),
        (lambda: torch.nn.GRU(8, 16)(SEQUENCE), 2 * 15 * 48 * (8 + 16)),
        (lambda: ENCODER(ROWS), LAYER),
        (lambda: ATTENTION(ROWS, ROWS, ROWS, need_weights=False), 2 * 10 * 4 * 256 + 4 * 160 * 5),
        (lambda: torch.zeros(3, 3).addmm_(torch.ones(3, 4), torch.ones(4, 3)), 2 * 3 * 4 * 3),
        (lambda: torch.ones(3, 4) @ torch.ones(4), 2 * 3 * 4),
        (lambda: torch.addbmm(torch.ones(3, 3), HEADS[0, :, :3, :5], HEADS[0, :, :5, :3]), 360),
        (lambda: torch.dot(ROWS.flatten(), ROWS.flatten()), 320),
        (lambda: F.conv2d(torch.ones(1, 3, 8, 8), torch.ones(4, 3, 3, 3)), 2 * 27 * 4 * 36),
        (lambda: F.layer_norm(ROWS.exp(), [16]).softmax(-1).cumsum(0).sum(), 0),
        (lambda: torch.nn.utils.clip_grad_norm_(LSTM.parameters(), 1.0), 0),
        (lambda: F.interpolate(HEADS, scale_factor=2, mode="bilinear"), 0),
    ],
)
def test_operations_are_those_of_the_shapes(call, count):
    assert flops(call) == (count, ())


def test_a_call_without_autograd_is_taken_apart():
    with torch.inference_mode():
        counter = FlopCounter()
        with counter:
            F.linear(ROWS, torch.ones(4, 16))
    assert counter.flops == (2 * 10 * 16 * 4, ())


def test_nested_tensors_are_not_taken_apart_as_dense_ones():
    heads = torch.nested.nested_tensor([torch.randn(2, length, 8) for length in (5, 3)])
    counter = FlopCounter()
    with torch.inference_mode(), counter:
        result = F.scaled_dot_product_attention(heads, heads, heads)
    assert [one.shape for one in result.unbind()] == [(2, 5, 8), (2, 3, 8)]


def test_a_backward_pass_has_the_gradients_of_weights_and_of_inputs():
    linear = torch.nn.Linear(16, 32)
    data = torch.randn(8, 16)
    assert flops(lambda: linear(data).sum().backward(), gradients=True) == (2 * 8192, ())
    forward = 2 * 15 * 64 * (8 + 16 + 16 + 16)
    assert flops(lambda: LSTM(SEQUENCE)[0].sum().backward(), gradients=True).total >= 2.5 * forward


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda: torch.fft.fft(ROWS), "aten::_fft_r2c"),
        (lambda: torch.linalg.solve(torch.eye(4), torch.ones(4)), "aten::_linalg_solve_ex"),
        (lambda: torch.nn.Bilinear(3, 4, 5)(ROWS[0, :, :3], ROWS[0, :, :4]), "aten::_trilinear"),
    ],
)
def test_what_has_no_formula_is_named(call, name):
    assert flops(call) == (0, (name,))


def test_an_operator_of_another_package_is_named():
    @torch.library.custom_op("opperf_test::doubled", mutates_args=())
    def doubled(data: torch.Tensor) -> torch.Tensor:
        return data * 2

    assert flops(lambda: doubled(ROWS @ ROWS[0].T)) == (2 * 10 * 16 * 5, ("opperf_test::doubled",))


def test_a_padded_batch_has_no_shapes_for_a_formula():
    mask = torch.tensor([[0, 0, 0, 0, 1], [0, 0, 0, 1, 1]]).bool()
    encoder = torch.nn.TransformerEncoder(ENCODER, 2).eval()
    found = flops(lambda: encoder(ROWS, src_key_padding_mask=mask))
    assert found.uncounted == ("aten::_transformer_encoder_layer_fwd",)


@pytest.mark.parametrize(
    "names, counts",
    [
        ("_sparse_mm hspmm baddbmm_ _foreach_mm mv vdot conv_tbc miopen_rnn quantized_gru", True),
        ("slow_conv3d mkldnn_linear linalg_eig _cholesky_solve_helper _cdist_forward", True),
        ("hamming_window lgamma upsample_linear1d _upsample_bilinear2d_aa comm convert", False),
        ("_thnn_fused_lstm_cell _cudnn_rnn_flatten_weight mkldnn_reorder_conv2d_weight", False),
        ("linalg_vector_norm _linalg_check_errors resolve_conj embedding_bag silu_backward", False),
    ],
)
def test_names_of_operators_that_count(names, counts):
    assert [name for name in names.split() if bool(COUNTING.search(name)) != counts] == []
