"""What the standard set has."""

import subprocess
import sys
from collections import Counter

from opperf.snippets import expand
from opperf.snippets.standard import BENCHMARKS

GROUND = {
    "Creation": ("empty without elements", "empty of one element"),
    "Pointwise": ("add", "multiply", "compare", "broadcasting"),
    "Data movement": ("contiguous, as it is", "contiguous, by a copy", "clone", "copy_", "zero_")
    + ("uniform_", "resize_"),
    "Indexing": ("read", "write", "by a tensor"),
    "Views": ("size", "stride", "as_strided", "select", "unsqueeze", "view"),
    "Reductions": ("max", "sum", "var", "sort", "products"),
    "Modules": ("BatchNorm2d", "GroupNorm", "LayerNorm", "Conv1d", "Conv2d", "MaxPool2d")
    + ("ReLU", "Sigmoid", "Linear", "LSTM"),
    "Composite": ("product, bias and ReLU", "places off the diagonal"),
    "Autograd": ("layer", "branches"),
}
"""What PyTorch's suite of instruction counts measures, under the names that it has here."""


def test_it_covers_the_ground_of_pytorchs_suite():
    labels = {one.labels[:2] for one in expand(BENCHMARKS)}
    assert {(group, name) for group, names in GROUND.items() for name in names} <= labels
    indices = {
        one.labels[2] for one in expand(BENCHMARKS) if one.labels[:2] == ("Indexing", "write")
    }
    assert {"[0]", "[0, 0]", "[0, 0, 0]", "[...]", "[:]", "[None]", "[False]", "[True]"} <= indices


def test_it_has_both_languages_and_modes_and_backward_passes():
    found = expand(BENCHMARKS)
    assert len(found) > 180
    languages = Counter(one.language for one in found)
    assert languages["python"] == languages["c++"]
    assert sum(one.mode == "script" for one in found) > 60
    assert sum(one.has_backward for one in found) > 20
    assert {one.threads for one in found if one.labels[:2] == ("Autograd", "layer")} == {1, 2}


def test_definitions_load_no_framework():
    code = "import sys, opperf.snippets.standard; assert not {'torch', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
