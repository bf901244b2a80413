"""MXNet itself is imported with what NumPy and Python no longer have."""

import subprocess
import sys


def test_mxnet_is_imported_with_the_removed_aliases_restored():
    code = (
        "import opperf, mxnet, numpy; print(numpy.bool is bool, mxnet.nd.ones(2).sum().asscalar())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "2.0"], done.stderr
