"""A Markdown page from results as users hold them."""

from opperf.model import MetricKind
from opperf.reports.run_page import results_text


def table_of(text):
    """The cells of the page's table, the line of dashes left out."""
    lines = text.split("## Results\n\n")[1].split("\n\n")[0].splitlines()
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
    assert titles == ["Operator", "Inputs", "Forward (ms)", "Backward (ms)", "Memory (kB)"]
    assert rows == [
        ["abs", "{'data': (2, 2)}", "---", "---", "0.016"],
        ["relu", "{'data': (8,)}", "99.0", "---", "0.064"],
        ["relu", "---", "---", "---", "---"],
    ]


def test_results_of_another_program_have_means():
    result = {"avg_time_forward_relu": 0.5, "avg_time_backward_relu": 0.75}
    titles, row = table_of(results_text({"relu": [result]}, {}, MetricKind.KERNEL))
    assert titles[2:] == ["Mean forward (ms)", "Mean backward (ms)", "Memory (kB)"]
    assert row[2:] == ["0.5", "0.75", "---"]


def test_percentiles_are_those_of_the_python_profiler():
    titles, _, row, _ = table_of(results_text(RESULTS, {}, MetricKind.WALL))
    assert titles[5:] == ["P50 (ms)", "P90 (ms)", "P99 (ms)"]
    assert row[4:] == ["0.064", "1.0", "1.5", "2.0"]


def test_results_of_other_frameworks_than_mxnet():
    result = {"forward_mean_ms": 0.5, "forward_median_ms": 0.25, "total_p90_ms": 2.0}
    titles, row = table_of(results_text({"mm": [result | {"memory_kB": 4.0}]}, {}, MetricKind.WALL))
    assert titles[2:] == [
        *("Forward (ms)", "Backward (ms)", "Memory (kB)", "P50 (ms)", "P90 (ms)", "P99 (ms)")
    ]
    assert row[2:] == ["0.25", "---", "4.0", "---", "2.0", "---"]


def test_numbers_are_aligned_to_the_right_and_texts_to_the_left():
    text = results_text(RESULTS, {}, MetricKind.KERNEL)
    (dashes,) = [line for line in text.splitlines() if "--:" in line]
    assert [cell.endswith(":") for cell in dashes.strip("|").split("|")] == [False] * 2 + [True] * 3


def test_runtime_features_are_folded_below_the_results():
    text = results_text(RESULTS, {"OPENCV": False, "BLAS_OPEN": True}, MetricKind.KERNEL)
    assert text.endswith(
        "<details><summary>Runtime Features</summary>\n\n- BLAS_OPEN: on\n- OPENCV: off\n\n"
        "</details>"
    )
