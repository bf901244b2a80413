"""nsys's command."""

from pathlib import Path

import pytest

from opperf.instruments.wrapped.program import ProcessFiles
from opperf.instruments.wrapped.programs import Nsys
from opperf.model import Wrapper


@pytest.mark.parametrize("own", [(), ("-t", "osrt"), ("--trace=osrt", "--stats=true")])
def test_the_users_choice_of_what_is_traced_comes_first(own):
    files = ProcessFiles(Path("r"), Path("l"), Path("t"))
    words = Nsys().command(Wrapper("nsys", ("/opt/nsys", *own), 5, 10), files)
    traced = [] if own else ["--trace=cuda,nvtx"]
    assert words == ["/opt/nsys", "profile", "--force-overwrite=true", "--output=r", *traced, *own]
