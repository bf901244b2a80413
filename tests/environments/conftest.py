"""A folder of wheels in place of an index, and a cache of the tests' own."""

from tests.wheels import cache, offline, wheels  # noqa: F401  (fixtures)
