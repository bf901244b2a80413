"""The run made by hand of the tests of results."""

from tests.results.conftest import closing, header, make_point, make_record, run  # noqa: F401
