"""Seeded damage to a content: to its bytes, to its words, to the structure of JSON, to a database.

Each kind of damage is a function of a content and a generator of random numbers, of which
equal ones do equal damage.
"""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from opperf import model

Damage = Callable[[bytes, Random], bytes]

ODD = (
    *("null", "{}", "[]", '""', '"x"', "-1", "0", "1", "1.5", "1e308", "-1e308", "1e999", "-0.0"),
    *("NaN", "Infinity", "-Infinity", "true", "false", "1" + "0" * 400, "1" * 5000),
    *("9223372036854775807", "18446744073709551616", "[[]]", "[{}]", '["x"]', "[1]", "[null]"),
    *('{"x": null}', '{"": 0}', '"\\ud800"', '"\\u0000"', '"a\\nb"', '"1e400"', '"nan"', '"/"'),
    *('"2025-13-45T99:99:99"', '"0001-01-01T00:00:00"', '"../.."', '"*"', '"("', '"<b>"', '"-1"'),
    *("[" * 200 + "]" * 200, "[" * 50_000 + "]" * 50_000, '{"a":' * 150 + "1" + "}" * 150),
    f'"{"y" * 200_000}"',
)
"""Texts of JSON in the place of a value."""

WORDS = (
    *("", "-1", "0", "1e308", "1e999", "nan", "inf", "9" * 400, "1" * 5000, "null", "~", "true"),
    *("[]", "{}", "[[]]", "{a: b}", "\x00", "\ufeff", "'", '"', "(", ")", "*", "&a", "!!x", "%s"),
    *("[" * 2000, "{x}", "${x}", "..", "/dev/null", "y" * 10_000, "ä", "\u2028", "1_0", "=", ","),
    *("1970-01-01", "0001-01-01T00:00:00Z", "٣", "0x1p-2", "-", "\\", "#", ":", "1..2", "-0"),
)
"""Texts in the place of a word."""

CELLS = (
    *(
        None,
        "",
        "x",
        "null",
        "{}",
        "[]",
        "[1",
        '{"x": 1}',
        "nan",
        -1,
        0,
        2**63 - 1,
        -(2**63),
        1e308,
    ),
    *(float("inf"), float("-inf"), b"\xff\x00", "y" * 10_000, "[" * 2000, '{"a": "\\ud800"}'),
)
"""Values in the place of a cell of a database."""


def _fields() -> list[str]:
    kinds = [kind for kind in vars(model).values() if isinstance(kind, type)]
    structs = [kind for kind in kinds if issubclass(kind, msgspec.Struct)]
    return sorted({name for kind in structs for name in kind.__struct_fields__})


FIELDS = _fields()
"""Names of fields that records may have, so that those which a content lacks are damaged, too."""


# Bytes


def flip(content: bytes, drawn: Random) -> bytes:
    made = bytearray(content)
    for _ in range(drawn.randint(1, 8)):
        made[drawn.randrange(len(made))] = drawn.randrange(256)
    return bytes(made)


def truncate(content: bytes, drawn: Random) -> bytes:
    return content[: drawn.choice((0, 1, drawn.randrange(len(content)), len(content) - 1))]


INSERTED = (b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"\x1b[2J", b"\r")
"""NUL, what is no UTF-8, its byte order mark, lone surrogates, a control sequence."""


def insert(content: bytes, drawn: Random) -> bytes:
    place = drawn.choice((0, len(content), drawn.randrange(len(content))))
    return content[:place] + drawn.choice(INSERTED) + content[place:]


def change_lines(content: bytes, drawn: Random) -> bytes:
    """A line is twice, elsewhere, cut short, or not there."""
    lines = content.splitlines(keepends=True) or [b"\n"]
    place = drawn.randrange(len(lines))
    line = lines[place]
    changed = drawn.choice(
        (b"", line + line, line[: len(line) // 2], line.rstrip(b"\n"), b"\n", b"\n\n" + line)
    )
    lines[place] = changed
    if drawn.random() < 0.3:
        drawn.shuffle(lines)
    return b"".join(lines)


BYTES: Mapping[str, Damage] = {
    damage.__name__: damage for damage in (flip, truncate, insert, change_lines)
}

# Words

WORD = re.compile(rb"[\w.+-]+")


def replace_word(content: bytes, drawn: Random) -> bytes:
    made = content
    for _ in range(drawn.randint(1, 2)):
        words = list(WORD.finditer(made))
        if not words:
            break
        word = drawn.choice(words)
        other = drawn.choice((drawn.choice(words)[0], drawn.choice(WORDS).encode()))
        made = made[: word.start()] + other + made[word.end() :]
    return made


def swap_signs(content: bytes, drawn: Random) -> bytes:
    """A character that is no letter and no digit is another."""
    signs = [place for place, one in enumerate(content) if not chr(one).isalnum() and one < 128]
    place = drawn.choice(signs or [0])
    other = bytes([drawn.choice(b"{}[]()<>,:;=\"'#&*!|%@`\\\n\t -")])
    return content[:place] + other + content[place + 1 :]


TEXT: Mapping[str, Damage] = {**BYTES, "replace_word": replace_word, "swap_signs": swap_signs}

# JSON


class Raw(str):
    """A text of JSON that stands for itself."""


def _encode(value: Any) -> str:
    """Returns a text of JSON, in which `Raw` and equal keys stay as they are."""
    raws: list[str] = []

    def marked(inner: Any) -> Any:
        if isinstance(inner, Raw):
            raws.append(str(inner))
            return f"@RAW{len(raws) - 1}@"
        if isinstance(inner, Object):
            # Pairs are a list, so that a key may be there twice.
            pairs = [f"{json.dumps(key)}: {_encode(held)}" for key, held in inner]
            raws.append(f"{{{', '.join(pairs)}}}")
            return f"@RAW{len(raws) - 1}@"
        return [marked(held) for held in inner] if isinstance(inner, list) else inner

    text = json.dumps(marked(value))
    return re.sub(r'"@RAW(\d+)@"', lambda match: raws[int(match[1])], text)


class Object(list):  # type: ignore[type-arg]
    """The pairs of an object of JSON, each a list of key and value."""


def _parse(text: bytes | str) -> Any:
    return json.loads(text, object_pairs_hook=lambda pairs: Object(map(list, pairs)))


def _places(value: Any) -> Iterator[tuple[list[Any], int]]:
    """Yields every value within another: the list that holds it, and its index there."""
    pending = [value]
    while pending:
        inner = pending.pop()
        if isinstance(inner, Object):
            holders = [(pair, 1) for pair in inner]
        else:
            holders = [(inner, place) for place in range(len(inner))]
        yield from holders
        pending += [list_[at] for list_, at in holders if isinstance(list_[at], list)]


def _damaged(value: Any, drawn: Random, damage: Callable[[Any, Random], None]) -> str:
    root = [value]
    damage(root, drawn)
    return _encode(root[0])


def _put_odd(root: list[Any], drawn: Random) -> None:
    for _ in range(drawn.randint(1, 2)):
        holder, at = drawn.choice(list(_places(root)))
        holder[at] = Raw(drawn.choice(ODD))


def _put_other(root: list[Any], drawn: Random) -> None:
    places = list(_places(root))
    holder, at = drawn.choice(places)
    other, there = drawn.choice(places)
    # The text, as a value within itself would have no end.
    holder[at] = Raw(_encode(other[there]))


def _change_keys(root: list[Any], drawn: Random) -> None:
    objects = [held[at] for held, at in _places(root) if isinstance(held[at], Object)]
    changed = drawn.choice(objects or [Object()])
    if not changed:
        changed.append(["x", Raw(drawn.choice(ODD))])
    at = drawn.randrange(len(changed))
    key, value = changed[at]
    kind = drawn.choice(("removed", "doubled", "renamed", "added", "emptied"))
    if kind == "removed":
        del changed[at]
    elif kind == "doubled":
        changed.append([key, drawn.choice((value, Raw(drawn.choice(ODD))))])
    elif kind == "renamed":
        changed[at] = [drawn.choice(("", f"{key}x", key.upper(), "\ud800", "a b", "/", "0")), value]
    elif kind == "added":
        changed.append([drawn.choice(FIELDS), Raw(drawn.choice(ODD))])
    else:
        changed.clear()


def _change_list(root: list[Any], drawn: Random) -> None:
    places = [(held, at) for held, at in _places(root) if type(held[at]) is list]
    holder, at = drawn.choice(places or [(root, 0)])
    value = holder[at] if type(holder[at]) is list else [holder[at]]
    shorter = value[: len(value) // 2]
    holder[at] = drawn.choice(([], value * 2, shorter, value[::-1], [value], value * 50))


STRUCTURES = (_put_odd, _put_other, _change_keys, _change_list)


def _of_document(damage: Callable[[Any, Random], None]) -> Damage:
    return lambda content, drawn: _damaged(_parse(content), drawn, damage).encode(
        errors="surrogatepass"
    )


def _of_lines(damage: Callable[[Any, Random], None]) -> Damage:
    def damaged(content: bytes, drawn: Random) -> bytes:
        lines = content.splitlines()
        # Each kind of line as often, whatever the number of lines of it.
        kinds: dict[bytes, list[int]] = {}
        for place, line in enumerate(lines):
            kinds.setdefault(line[:18], []).append(place)
        place = drawn.choice(drawn.choice(list(kinds.values())))
        made = _damaged(_parse(lines[place]), drawn, damage)
        lines[place] = made.encode(errors="surrogatepass")
        return b"\n".join(lines) + b"\n"

    return damaged


JSON: Mapping[str, Damage] = {
    **BYTES,
    **{damage.__name__.strip("_"): _of_document(damage) for damage in STRUCTURES},
}

LINES: Mapping[str, Damage] = {
    **BYTES,
    **{damage.__name__.strip("_"): _of_lines(damage) for damage in STRUCTURES},
}


def _packed(damage: Damage) -> Damage:
    return lambda content, drawn: gzip.compress(damage(gzip.decompress(content), drawn), 1, mtime=0)


GZIP: Mapping[str, Damage] = {
    **BYTES,
    **{f"packed_{name}": _packed(damage) for name, damage in JSON.items()},
}

# Databases


def put_cell(content: bytes, drawn: Random) -> bytes:
    """A cell of the database has another value, of whatever type."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.sqlite"
        path.write_bytes(content)
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute("PRAGMA ignore_check_constraints = 1")
            found = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
            tables = [name for (name,) in database.execute(found)]
            tables = [
                name for name in tables if database.execute(f"SELECT 1 FROM {name}").fetchone()
            ]
            for _ in range(20):
                table = drawn.choice(tables)
                columns = database.execute(f"PRAGMA table_info({table})").fetchall()
                column = drawn.choice(columns)[1]
                # Some tables have no other number of a row.
                keys = [f'"{one[1]}"' for one in columns if one[5]] or ["rowid"]
                held = f"SELECT {', '.join(keys)} FROM {table}"
                row = drawn.choice(database.execute(held).fetchall())
                where = " AND ".join(f"{key} IS ?" for key in keys)
                change = f'UPDATE {table} SET "{column}" = ? WHERE {where}'
                if drawn.random() < 0.1:
                    change = f"DELETE FROM {table} WHERE ? IS NOT 0 AND {where}"
                try:
                    database.execute(change, (drawn.choice(CELLS), *row))
                    break
                except sqlite3.Error:
                    # A rule of the table: another cell.
                    continue
        return path.read_bytes()


DATABASE: Mapping[str, Damage] = {
    **{damage.__name__: damage for damage in (flip, truncate, insert)},
    **{f"put_cell_{number}": put_cell for number in range(4)},
}
"""The cells several times: what is in them is what opperf reads itself."""


def damaged(
    content: bytes, kinds: Mapping[str, Damage], seed: str, kind: str = ""
) -> tuple[str, bytes]:
    """Returns a content with the damage of a seed, and the kind's name; without `kind`, any."""
    drawn = Random(seed)
    name = kind or drawn.choice(list(kinds))
    made = kinds[name](content or b" ", drawn)
    return name, made
