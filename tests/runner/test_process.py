"""Which opperf a child process finds."""

import os
from pathlib import Path

import opperf
from opperf.runner.process import PACKAGE, with_package

HERE = Path(opperf.__file__).absolute().parent


def test_a_child_finds_this_very_package_before_any_other():
    assert HERE == PACKAGE
    assert with_package({}) == {"PYTHONPATH": str(HERE.parent)}
    assert with_package({"PYTHONPATH": ""}) == {"PYTHONPATH": str(HERE.parent)}
    found = with_package({"PYTHONPATH": f"/a{os.pathsep}/b", "HOME": "/home"})
    assert found == {
        "PYTHONPATH": os.pathsep.join([str(HERE.parent), "/a", "/b"]),
        "HOME": "/home",
    }


def test_another_folder_may_hold_it():
    assert with_package({}, Path("/alone")) == {"PYTHONPATH": "/alone"}


def test_the_parents_variables_stay_as_they_are():
    variables = {"PYTHONPATH": "/a"}
    with_package(variables)
    assert variables == {"PYTHONPATH": "/a"}
