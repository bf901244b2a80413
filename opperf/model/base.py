"""Base class of the types in `opperf.model`."""

from __future__ import annotations

import msgspec


class Struct(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=False):
    """Base class of opperf's types. Unknown fields are ignored on reading, so that an older opperf
    can read a newer file of the same schema version."""
