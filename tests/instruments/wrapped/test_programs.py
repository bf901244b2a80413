"""The table of programs, and Nsight Systems' command."""

from pathlib import Path

import pytest

from opperf.instruments.wrapped.program import ProcessFiles
from opperf.instruments.wrapped.programs import Nsys, name_of
from opperf.model import Wrapper


def test_names_are_those_of_programs():
    assert name_of(("/opt/bin/perf", "stat", "-d")) == "perf stat"
    assert name_of(("perf", "trace")) == "perf" and name_of(("/opt/vtune", "stat")) == "vtune"


@pytest.mark.parametrize("own", [(), ("-t", "osrt"), ("--trace=osrt", "--stats=true")])
def test_the_users_choice_of_what_is_traced_comes_first(own):
    files = ProcessFiles(Path("r"), Path("l"), Path("t"))
    words = Nsys().command(Wrapper("nsys", ("/opt/nsys", *own), 5, 10), files)
    traced = [] if own else ["--trace=cuda,nvtx"]
    assert words == ["/opt/nsys", "profile", "--force-overwrite=true", "--output=r", *traced, *own]
