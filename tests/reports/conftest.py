"""The run made by hand of the tests of results."""

from tests.results.conftest import (  # noqa: F401
    closing,
    header,
    make_point,
    make_record,
    run,
)
