"""A Markdown page from results as users hold them."""

from opperf.model import MetricKind
from opperf.results.results_markdown import results_text


def table_of(text):
    """The cells of the page's table, the line of dashes left out."""
    lines = text.split("## Results\n\n")[1].splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if "--:" not in line
    ]


RESULTS = {
    "relu": [
        {
            "inputs": {"data": (8,)},
            "max_storage_mem_alloc_cpu/0": 0.064,
            "avg_time_forward_relu": 0.5,
            "avg_time_backward_relu": 0.75,
            "avg_time_relu": 1.25,
            "p50_time_relu": 1.0,
            "p90_time_relu": 1.5,
            "p99_time_relu": 2.0,
            "p50_time_forward_relu": 99.0,
        },
        {"avg_time_forward_relu": 0.25},
    ],
    "abs": [{"inputs": {"data": (2, 2)}, "max_storage_mem_alloc_gpu/1": 0.016}],
}


def test_every_figure_is_in_its_column():
    titles, *rows = table_of(results_text(RESULTS, {}, MetricKind.KERNEL))
    assert titles == [
        "Operator",
        "Inputs",
        "Max Mem Usage (Storage) (kB)",
        "Avg Forward Time (ms)",
        "Avg Backward Time (ms)",
    ]
    assert rows == [
        ["abs", "{'data': (2, 2)}", "0.016", "---", "---"],
        ["relu", "{'data': (8,)}", "0.064", "0.5", "0.75"],
        ["relu", "---", "---", "0.25", "---"],
    ]


def test_percentiles_are_those_of_the_python_profiler():
    titles, _, row, _ = table_of(results_text(RESULTS, {}, MetricKind.WALL))
    assert titles[5:] == ["P50 Time (ms)", "P90 Time (ms)", "P99 Time (ms)"]
    assert row[2:] == ["0.064", "0.5", "0.75", "1.0", "1.5", "2.0"]


def test_numbers_are_aligned_to_the_right_and_texts_to_the_left():
    text = results_text(RESULTS, {}, MetricKind.KERNEL)
    (dashes,) = [line for line in text.splitlines() if "--:" in line]
    assert [cell.endswith(":") for cell in dashes.strip("|").split("|")] == [False] * 2 + [True] * 3


def test_runtime_features_come_first():
    text = results_text(RESULTS, {"OPENCV": False, "BLAS_OPEN": True}, MetricKind.KERNEL)
    assert text.startswith(
        "# Operator benchmarks\n\n## Runtime Features\n\n- BLAS_OPEN: on\n- OPENCV: off\n\n"
    )
