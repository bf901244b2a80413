"""MXNet itself is imported with what NumPy and Python no longer have, and without the statistics
that it seldom uses."""

import subprocess
import sys


def test_mxnet_is_imported_with_the_removed_aliases_restored():
    code = """
import sys
import opperf, mxnet, numpy
print(numpy.bool is bool, mxnet.nd.ones(2).sum().asscalar(), "scipy.stats" in sys.modules)
from mxnet.contrib import quantization
print(round(float(quantization.stats.entropy([1, 1])), 3))
from scipy import stats
print(stats.__name__, stats.entropy is quantization.stats.entropy)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "2.0", "False", "0.693", "scipy.stats", "True"], (
        done.stderr
    )
