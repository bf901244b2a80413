"""The peak of PyTorch's memory, against arithmetic. Long, as each operator has its expected bytes
written out."""

import subprocess
import sys
import types

import pytest

torch = pytest.importorskip("torch")

from opperf.errors import ProfilerError, UnsupportedError  # noqa: E402  (torch may be missing)
from opperf.frameworks.torch import memory, private  # noqa: E402
from opperf.frameworks.torch.memory import Change, Level, Span, above_entry, levels_after, measure  # noqa: E402

functional = torch.nn.functional

FLOAT, INT, DOUBLE = 4, 8, 8
"""Bytes of an element."""

ROWS, COLUMNS, OUTPUTS, TAKEN, LARGEST = 64, 48, 32, 20, 5
N = ROWS * COLUMNS * FLOAT
"""Bytes of the matrix that the operators take."""

BATCH, CHANNELS, GROUPS, SIDE = 2, 8, 4, 16
PICTURE = BATCH * CHANNELS * SIDE * SIDE * FLOAT
HALF = PICTURE // 4
"""Bytes of a picture of half the height and width."""


@pytest.fixture(scope="module")
def other():
    """The other arguments of the operators."""
    return types.SimpleNamespace(
        matrix=torch.rand(ROWS, COLUMNS),
        mask=torch.rand(ROWS, COLUMNS) > 0.5,
        weight=torch.rand(OUTPUTS, COLUMNS),
        bias=torch.rand(OUTPUTS),
        scale=torch.rand(COLUMNS),
        channel_scale=torch.rand(CHANNELS),
        mean=torch.zeros(CHANNELS),
        variance=torch.ones(CHANNELS),
        taken=torch.arange(TAKEN),
        columns=torch.zeros(ROWS, COLUMNS, dtype=torch.int64),
        classes=torch.zeros(ROWS, dtype=torch.int64),
    )


PRODUCT = ROWS * OUTPUTS * FLOAT
ROW = COLUMNS * FLOAT
TAKEN_ROWS = TAKEN * ROW
PADDED = ROWS * (COLUMNS + 2) * FLOAT
SPECTRUM = ROWS * (COLUMNS // 2 + 1) * 2 * FLOAT
SCALAR = FLOAT
STATISTICS = 2 * BATCH * GROUPS * FLOAT

MATRIX_OPERATORS = [
    # Forward: the output. Backward, beside it: the gradient, and what it is computed from.
    ("neg", lambda a, o: -a, N, N + N),
    ("exp", lambda a, o: torch.exp(a), N, N + N),
    ("log", lambda a, o: torch.log(a), N, N + N),
    ("relu", lambda a, o: torch.relu(a), N, N + N),
    ("sigmoid", lambda a, o: torch.sigmoid(a), N, N + N),
    ("tanh", lambda a, o: torch.tanh(a), N, N + N),
    ("gelu", lambda a, o: functional.gelu(a), N, N + N),
    ("mul", lambda a, o: a * o.matrix, N, N + N),
    # The cosine of the input; the output times two.
    ("sin", lambda a, o: torch.sin(a), N, N + N + N),
    ("sqrt", lambda a, o: torch.sqrt(a), N, N + N + N),
    # The head gradient is the gradient.
    ("add", lambda a, o: a + o.matrix, N, N),
    # The gradient is a view of the head gradient.
    ("cat", lambda a, o: torch.cat([a, o.matrix]), 2 * N, 2 * N),
    ("stack", lambda a, o: torch.stack([a, o.matrix]), 2 * N, 2 * N),
    ("transpose", lambda a, o: a.t(), 0, 0),
    ("contiguous", lambda a, o: a.t().contiguous(), N, N),
    ("sum", lambda a, o: a.sum(), SCALAR, SCALAR),
    ("sum of rows", lambda a, o: a.sum(1), ROWS * FLOAT, ROWS * FLOAT),
    # A zero that takes the other values' places in the gradient.
    ("where", lambda a, o: torch.where(o.mask, a, o.matrix), N, N + N + SCALAR),
    ("softmax", lambda a, o: torch.softmax(a, 1), N, N + N),
    ("log_softmax", lambda a, o: torch.log_softmax(a, 1), N, N + N),
    # Values and indices.
    ("max", lambda a, o: a.max(1), ROWS * (FLOAT + INT), ROWS * (FLOAT + INT) + N),
    ("argmax", lambda a, o: a.argmax(1), ROWS * INT, ROWS * INT),
    (
        "topk",
        lambda a, o: torch.topk(a, LARGEST, 1),
        ROWS * LARGEST * (FLOAT + INT),
        ROWS * LARGEST * (FLOAT + INT) + N,
    ),
    # Backward: the reversed head gradient, its sums, and these reversed.
    ("cumsum", lambda a, o: a.cumsum(1), N, N + 3 * N),
    ("matmul", lambda a, o: a @ o.weight.t(), PRODUCT, PRODUCT + N),
    ("linear", lambda a, o: functional.linear(a, o.weight, o.bias), PRODUCT, PRODUCT + N),
    # The mean and the inverse deviation of each row.
    (
        "layer_norm",
        lambda a, o: functional.layer_norm(a, (COLUMNS,), o.scale, o.scale),
        N + 2 * ROWS * FLOAT,
        N + 2 * ROWS * FLOAT + N,
    ),
    # The mask has the input's dtype on a CPU.
    ("dropout", lambda a, o: functional.dropout(a, 0.5), N + N, N + N + N),
    ("index_select", lambda a, o: a.index_select(0, o.taken), TAKEN_ROWS, TAKEN_ROWS + N),
    ("index", lambda a, o: a[o.taken], TAKEN_ROWS, TAKEN_ROWS + N),
    ("embedding", lambda a, o: functional.embedding(o.taken, a), TAKEN_ROWS, TAKEN_ROWS + N),
    ("gather", lambda a, o: a.gather(0, o.columns), N, N + N),
    ("mse", lambda a, o: functional.mse_loss(a, o.matrix, reduction="none"), N, N + N),
    # The loss, and the sum of the weights.
    ("nll", lambda a, o: functional.nll_loss(a, o.classes), 2 * SCALAR, 2 * SCALAR + N),
    ("pad", lambda a, o: functional.pad(a, (1, 1)), PADDED, PADDED + N),
    ("roll", lambda a, o: a.roll(1), N, N + N),
    ("flip", lambda a, o: a.flip(0), N, N + N),
    ("tril", lambda a, o: a.tril(), N, N + N),
    ("to", lambda a, o: a.double(), 2 * N, 2 * N + N),
]

PICTURE_OPERATORS = [
    (
        "max_pool2d",
        lambda a, o: functional.max_pool2d(a, 2),
        HALF + HALF // FLOAT * INT,
        HALF + HALF // FLOAT * INT + PICTURE,
    ),
    ("avg_pool2d", lambda a, o: functional.avg_pool2d(a, 2), HALF, HALF + PICTURE),
    # Backward: two sums for each channel of each picture.
    (
        "group_norm",
        lambda a, o: functional.group_norm(a, GROUPS, o.channel_scale, o.channel_scale),
        PICTURE + STATISTICS,
        PICTURE + STATISTICS + 2 * BATCH * CHANNELS * FLOAT + PICTURE,
    ),
]


def peaks(call, data, other):
    """Peaks of a forward call, and of one with its backward pass."""
    with measure("cpu(0)") as forward:
        outputs = call(data, other)
    data.requires_grad_(True)
    outputs = differentiable(call(data, other))
    heads = [torch.ones_like(one) for one in outputs]
    del outputs
    with measure("cpu(0)") as both:
        outputs = differentiable(call(data, other))
        gradients = torch.autograd.grad(outputs, [data], heads) if outputs else None
    del gradients
    return forward.peak_bytes, both.peak_bytes


def differentiable(outputs):
    listed = outputs if isinstance(outputs, tuple) else (outputs,)
    return [one for one in listed if one.requires_grad]


@pytest.mark.parametrize(
    ("call", "forward", "both"),
    [row[1:] for row in MATRIX_OPERATORS],
    ids=[row[0] for row in MATRIX_OPERATORS],
)
def test_the_peak_of_an_operator_of_a_matrix(call, forward, both, other):
    assert peaks(call, torch.rand(ROWS, COLUMNS) + 0.1, other) == (forward, both)


@pytest.mark.parametrize(
    ("call", "forward", "both"),
    [row[1:] for row in PICTURE_OPERATORS],
    ids=[row[0] for row in PICTURE_OPERATORS],
)
def test_the_peak_of_an_operator_of_pictures(call, forward, both, other):
    assert peaks(call, torch.rand(BATCH, CHANNELS, SIDE, SIDE), other) == (forward, both)


def peak(call):
    with measure("cpu(0)") as reading:
        outputs = call()
    del outputs
    return reading.peak_bytes


def test_batch_norm_keeps_its_statistics_and_folds_the_scale(other):
    pictures = torch.rand(BATCH, CHANNELS, SIDE, SIDE)
    arguments = other.mean, other.variance, other.channel_scale, other.channel_scale
    channel = CHANNELS * FLOAT
    # A factor and a term for each channel; in training its mean and inverse deviation as well.
    assert peak(lambda: functional.batch_norm(pictures, *arguments)) == PICTURE + 2 * channel
    trained = peak(lambda: functional.batch_norm(pictures, *arguments, training=True))
    assert trained == PICTURE + 4 * channel


def test_the_spectrum_of_real_numbers(other):
    assert peak(lambda: torch.fft.rfft(other.matrix)) == SPECTRUM


def test_a_sort_keeps_values_and_indices_and_may_copy_a_row(other):
    with measure("cpu(0)") as reading:
        found = torch.sort(other.matrix, 1)
    kept = N // FLOAT * (FLOAT + INT)
    assert reading.kept_bytes == kept
    assert kept <= reading.peak_bytes <= kept + COLUMNS * (FLOAT + INT)
    del found


KERNEL, MADE = 3, 4


@pytest.mark.filterwarnings("ignore:TF32 acceleration")
def test_the_columns_of_a_convolution_are_workspace():
    pictures = torch.rand(BATCH, CHANNELS, SIDE, SIDE)
    weight = torch.rand(MADE, CHANNELS, KERNEL, KERNEL)
    places = (SIDE - KERNEL + 1) ** 2
    output = BATCH * MADE * places * FLOAT
    columns = BATCH * CHANNELS * KERNEL * KERNEL * places * FLOAT
    with torch.backends.mkldnn.flags(enabled=False):
        assert peak(lambda: functional.conv2d(pictures, weight)) == output + columns
    # oneDNN may copy tensors into its own layouts, which depends on the processor.
    assert peak(lambda: functional.conv2d(pictures, weight)) >= output


def test_a_tensor_that_is_freed_inside_counts_while_it_was_there():
    def twice():
        torch.empty(1000, dtype=torch.uint8)
        return torch.empty(300, dtype=torch.uint8)

    with measure("cpu(0)") as reading:
        kept = twice()
    assert (reading.peak_bytes, reading.kept_bytes) == (1000, 300)
    del kept


def test_a_tensor_from_before_may_be_freed_inside():
    old = [torch.empty(5000, dtype=torch.uint8)]
    with measure("cpu(0)") as reading:
        old.clear()
        kept = torch.empty(300, dtype=torch.uint8)
    assert (reading.peak_bytes, reading.kept_bytes) == (300, 300)
    del kept


def test_nested_contexts_have_levels_of_their_own():
    with measure("cpu(0)") as whole:
        first = torch.empty(1000, dtype=torch.uint8)
        with measure("cpu(0)") as inner:
            second = torch.empty(300, dtype=torch.uint8)
            del second
        del first
        with measure("cpu(0)") as last:
            third = torch.empty(200, dtype=torch.uint8)
    assert (whole.peak_bytes, whole.kept_bytes) == (1300, 200)
    assert (inner.peak_bytes, inner.kept_bytes) == (300, 0)
    assert (last.peak_bytes, last.kept_bytes) == (200, 200)
    del third


def test_nothing_allocated_is_a_peak_of_nothing():
    with measure("cpu(0)") as reading:
        """No call."""
    assert (reading.peak_bytes, reading.kept_bytes) == (0, 0)


def test_an_empty_trace_is_an_error(monkeypatch):
    class Blind:
        def __enter__(self):
            return [types.SimpleNamespace(experimental_event_tree=list)]

        def __exit__(self, *error):
            pass

    monkeypatch.setattr(memory, "record", lambda activities, memory: Blind())
    with pytest.raises(ProfilerError, match="recorded no allocation"), measure("cpu(0)"):
        torch.empty(3)


def test_contexts_that_are_not_in_the_trace_are_an_error():
    private.ENABLE_RECORDING.get()(False)
    try:
        with pytest.raises(ProfilerError, match="recorded no allocation"), measure("cpu(0)"):
            torch.empty(3)
    finally:
        private.ENABLE_RECORDING.get()(True)


def test_an_error_inside_ends_the_recording():
    with pytest.raises(ValueError, match="refused"), measure("cpu(0)"):
        raise ValueError("refused")
    assert not torch._C._autograd._profiler_enabled()
    assert peak(lambda: torch.empty(40, dtype=torch.uint8)) == 40


def test_a_release_of_what_was_there_before_does_not_lower_the_level():
    changes = [Change(30, 0xB, -64), Change(10, 0xA, 100), Change(20, 0xC, -500)]
    assert levels_after(changes) == [Level(10, 100), Level(20, 100), Level(30, 100)]


def test_an_address_that_is_allocated_again_counts_once():
    changes = [Change(10, 0xA, 100), Change(20, 0xA, 30), Change(30, 0xA, -30)]
    assert levels_after(changes) == [Level(10, 100), Level(20, 30), Level(30, 0)]


@pytest.mark.parametrize(
    ("span", "found"),
    [
        (Span(0, 100), (300, 50)),
        (Span(15, 100), (200, -50)),
        (Span(25, 35), (0, -250)),
        (Span(15, 25), (200, 200)),
        (Span(50, 60), (0, 0)),
        (Span(0, 5), (0, 0)),
    ],
)
def test_the_levels_of_a_span_are_above_that_at_its_begin(span, found):
    levels = [Level(10, 100), Level(20, 300), Level(30, 50)]
    assert above_entry(levels, span) == found


def test_a_device_without_a_peak_is_unsupported():
    with pytest.raises(UnsupportedError, match="mps"):
        measure("mps(0)")


class Allocator(types.ModuleType):
    """The functions of a caching allocator, which reserves blocks of 1000."""

    def __init__(self):
        super().__init__("allocator")
        self.allocated = self.peak = self.reserved = self.reserved_peak = 0

    def allocate(self, size):
        self.allocated += size
        self.reserved = max(self.reserved, -(-self.allocated // 1000) * 1000)
        self.peak = max(self.peak, self.allocated)
        self.reserved_peak = max(self.reserved_peak, self.reserved)

    def synchronize(self, index):
        assert index == 1

    def empty_cache(self):
        self.reserved = -(-self.allocated // 1000) * 1000

    def memory_allocated(self, index):
        return self.allocated

    def memory_reserved(self, index):
        return self.reserved

    def max_memory_allocated(self, index):
        return self.peak

    def max_memory_reserved(self, index):
        return self.reserved_peak

    def reset_peak_memory_stats(self, index):
        self.peak, self.reserved_peak = self.allocated, self.reserved


def figures(reading):
    return reading.peak_bytes, reading.kept_bytes, reading.reserved_bytes


def test_nested_contexts_share_an_allocators_peak():
    allocator = Allocator()
    allocator.allocate(9500)
    allocator.allocate(-9000)
    with memory._measure_allocator(allocator, 1) as whole:
        allocator.allocate(2000)
        with memory._measure_allocator(allocator, 1) as inner:
            allocator.allocate(4000)
            allocator.allocate(-4000)
        allocator.allocate(100)
        allocator.allocate(-1100)
    # Of the 10000 that were reserved, 1000 are left at the begin.
    assert figures(whole) == (6000, 1000, 6000)
    assert figures(inner) == (4000, 0, 4000)


def test_an_allocators_peak_before_the_context_does_not_count():
    allocator = Allocator()
    allocator.allocate(5000)
    with memory._measure_allocator(allocator, 1) as first:
        allocator.allocate(-5000)
    with memory._measure_allocator(allocator, 1) as second:
        allocator.allocate(10)
    assert figures(first) == (0, -5000, 0)
    assert figures(second) == (10, 10, 1000)


IN_A_FORK = """
import os
import torch
from opperf.frameworks.torch.memory import measure

process = os.fork()
if not process:
    matrix = torch.rand(256, 256, requires_grad=True)
    with measure("cpu(0)") as whole:
        with measure("cpu(0)") as reading:
            (matrix @ matrix).sum().backward()
        matrix.grad = None
    # The product, its gradients by both factors, and the sum.
    assert reading.kept_bytes == 256 * 256 * 4, reading.kept_bytes
    assert reading.peak_bytes >= 3 * 256 * 256 * 4, reading.peak_bytes
    assert whole.kept_bytes == 0, whole.kept_bytes
    os._exit(0)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"""


def test_a_fork_of_a_process_that_only_imported_torch_measures():
    subprocess.run([sys.executable, "-c", IN_A_FORK], check=True, timeout=300)
