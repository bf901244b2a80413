"""Base of the vocabulary's types."""

from __future__ import annotations

import msgspec


class Struct(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=False):
    """Base of the vocabulary. Unknown fields are ignored on reading, so that an older
    opperf can read a newer file of the same schema version."""
