"""The base class of the types in `opperf.model`, and the canonical form that ids are hashes of:
equal values have equal forms."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import msgspec


class Struct(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=False):
    """Base class of opperf's types. Unknown fields are those of a later version: ignored."""


ID_VERSION = 1
"""Version of the form. Fields at their defaults are absent from it, so that a new field with a
default changes no id and needs no new version."""

ID_LENGTH = 16
"""Hexadecimal digits of an id: among a million cases one in thirty million collides."""


def canonical(value: Any) -> Any:
    """Returns the value as JSON types, without fields that equal their defaults."""
    if isinstance(value, msgspec.Struct):
        tag, fields = _fields(type(value))
        content = {
            name: canonical(element)
            for name, default in fields
            if (element := getattr(value, name)) != default
        }
        return {**tag, **content}
    if isinstance(value, dict):
        return {key: canonical(element) for key, element in value.items()}
    if isinstance(value, (list, tuple)):
        return [canonical(element) for element in value]
    return value


@functools.cache
def _fields(kind: type[msgspec.Struct]) -> tuple[dict[str, Any], tuple[tuple[str, Any], ...]]:
    config = kind.__struct_config__
    tag = {config.tag_field: config.tag} if config.tag_field else {}
    fields = tuple(
        (
            field.name,
            field.default_factory()
            if field.default_factory is not msgspec.NODEFAULT
            else field.default,
        )
        for field in msgspec.structs.fields(kind)
    )
    return tag, fields


def digest(value: Any) -> str:
    """Returns the hexadecimal SHA-256 of a value's canonical form."""
    data = msgspec.json.encode(canonical(value), order="deterministic")
    return hashlib.sha256(data).hexdigest()
