"""The form of a value that ids are hashes of: the same for equal values, whatever their history."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import msgspec

ID_VERSION = 1
"""Version of the form. A field that is added with a default is absent where it has that default,
and so changes no id and needs no other version."""

ID_LENGTH = 16
"""Hexadecimal digits of an id: 64 bits, of which a collision among a million cases is a matter of
one in thirty million."""


def canonical(value: Any) -> Any:
    """The value as JSON has it, without the fields that equal their defaults."""
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
    """A type's tag, and its fields with their defaults."""
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
    """Hexadecimal SHA-256 of a value's canonical form."""
    data = msgspec.json.encode(canonical(value), order="deterministic")
    return hashlib.sha256(data).hexdigest()
