"""What is loaded, and what is not."""

import re
import subprocess
import sys
from pathlib import Path


def loading(names, codes):
    """Which of these modules are loaded by which code, each run after those before it."""
    program = (
        "import sys\n"
        f"for code in {codes!r}:\n"
        "    exec(code, {})\n"
        f"    for name in {set(names)!r} & sys.modules.keys():\n"
        "        print(name, 'by', code)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_after(code):
    program = f"import sys\n{code}\nprint(' '.join(sys.modules))"
    return set(
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout.split()
    )


def test_no_framework_and_no_numpy_without_need():
    codes = [
        "import opperf",
        "import opperf.model, opperf.errors, opperf.frameworks",
        "import opperf.opperf",
        "import opperf.frameworks; opperf.frameworks.default_framework()",
        "from opperf.commands.registry import frameworks; "
        "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()): "
        "frameworks.main(['--json'], standalone_mode=False)",
        "import opperf.commands.running, opperf.worker.client, opperf.execution.run_header",
        "import opperf.operations, opperf.rules.mxnet, opperf.rules.numpy",
    ]
    assert loading({"mxnet", "numpy", "scipy", "rich", "jinja2"}, codes) == ""


def test_what_writes_tables_and_pages_is_imported_where_one_is_written():
    codes = [
        "import opperf.worker.serve, opperf.worker.measure, opperf.frameworks.numpy.framework",
        "import opperf.reports.run_tables, opperf.reports.summary, opperf.comparison.ab.telling",
        "import opperf.comparison.files.telling, opperf.comparison.report, opperf.reports.writing",
        "import opperf.results.plots.drawing",
        "import opperf.comparison.explaining.difference_report",
    ]
    assert loading({"rich", "jinja2", "altair", "vl_convert", "plotext"}, codes) == ""


def test_a_module_that_is_loaded_is_told():
    assert loading({"json"}, ["import re", "import json"]) == "json by import json\n"


def test_a_process_that_measures_looks_for_no_metrics_of_other_packages():
    code = "import opperf.worker.serve; from opperf.metrics import metrics_by_name"
    loaded_after(f"{code}; assert not metrics_by_name.cache_info().currsize")


def test_the_aliases_are_installed_once():
    code = (
        "import opperf; from opperf import numpy_aliases as n; n.install(); n.install(); "
        "assert sum(type(f).__name__ == '_BeforeMXNet' for f in sys.meta_path) == 1"
    )
    assert "opperf" in loaded_after(code)


def test_a_worker_needs_no_more_than_the_base_of_an_environment():
    loaded = loaded_after("import opperf.worker.serve")
    assert not {"click", "jinja2", "rich", "tabulate"} & loaded


def test_no_test_looks_outside_the_repository():
    root = Path(__file__).resolve().parents[1]
    for path in sorted((root / "tests").rglob("*.py")):
        # The number of folders between the file and the repository's root.
        depth = len(path.relative_to(root).parts)
        for places in re.findall(r"__file__\)[.()\w]*\.parents\[(\d+)\]", path.read_text("utf-8")):
            assert int(places) < depth, path
