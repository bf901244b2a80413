"""Shares as users write them."""

import pytest

from opperf.shares import read_share, share_text


@pytest.mark.parametrize("written", ["5%", " 5 %", "0.05", 0.05, "5.0%"])
def test_a_share_is_written_in_percent_or_as_a_fraction(written):
    assert read_share(written) == pytest.approx(0.05)


@pytest.mark.parametrize("written", ["5", 5, "0", "-1%", "100%", "much", "5%x", True, None, ""])
def test_what_is_no_share(written):
    with pytest.raises(ValueError, match="is not a share between 0 and 1; write 5% or 0.05"):
        read_share(written)


def test_a_share_as_text():
    assert [share_text(share) for share in (0.02, 0.005, 0.1234)] == ["2%", "0.5%", "12.34%"]
