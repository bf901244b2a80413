"""Text that is nested too deep, or has a key twice, is refused by every reader, and nothing
warns."""

import json
import warnings

import msgspec
import pytest

from opperf.comparison.files.reading import read
from opperf.decoding import (
    DEEPEST,
    EqualKeysError,
    are_distinct,
    decode,
    parse_python,
    read_json,
    read_toml,
    read_yaml,
    with_whole_characters,
)
from opperf.errors import OpperfError
from opperf.sources.base import is_source, open_source
from opperf.sources.logged_arguments import read_arguments

DEPTH = 5000
"""Deeper than what reads the files follows."""

BEYOND = 50_000
"""Deeper than any version's parsers, which have limits of their own."""


def test_json_is_read_up_to_a_depth():
    fits = "[" * DEEPEST + "]" * DEEPEST
    assert read_json(fits) == json.loads(fits)
    assert read_json('{"a": [1, {"b": 2}]}') == {"a": [1, {"b": 2}]}
    for depth in (DEEPEST + 1, DEPTH):
        for begin, end in (("[", "]"), ('{"a":', "}")):
            with pytest.raises(ValueError, match="nested more than 100 deep"):
                read_json(begin * depth + "1" + end * depth)


def test_a_decoder_fails_as_for_other_wrong_text():
    assert decode(msgspec.json.decode, b"[1]") == [1]
    for text in (b"[" * BEYOND + b"]" * BEYOND, b"[1"):
        with pytest.raises(msgspec.DecodeError):
            decode(msgspec.json.decode, text)


@pytest.mark.parametrize("text", ["-" * BEYOND + "1", "(" * BEYOND])
def test_python_that_is_nested_too_deep_is_wrong_syntax(text):
    with pytest.raises(SyntaxError):
        parse_python(text)


def test_python_is_parsed_without_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse_python('x = 1or 2, "\\d"')
        with pytest.raises(ValueError, match="1 or 2"):
            read_arguments("((1or 2,), {})")
        with pytest.raises(ValueError, match="no Python literal"):
            read_arguments("((1a,), {})")


LISTS = "[" * DEPTH + "]" * DEPTH

FILES = {
    "objects.json": '{"a":' * DEPTH + "1" + "}" * DEPTH,
    "lists.json": LISTS,
    "values.json": '{"torch.add": {"config": [{"input": [{"args": ['
    + '{"type": "genericlist", "value": [' * 300
    + "]}" * 300
    + "]}]}]}}",
    "lists.txt": f"Operator: aten.relu.default\ncnt: 1, (({LISTS}), {{}})\n",
    "minus.txt": f"Operator: aten.relu.default\ncnt: 1, (({'-' * DEPTH}1,), {{}})\n",
    "sum.txt": f"Operator: aten.relu.default\ncnt: 1, ((1{'+1j' * DEPTH},), {{}})\n",
    "header.jsonl": f'{{"line":"header","schema":1,"options":{LISTS}}}\n',
    "session.jsonl": f'{{"line":"ab","schema":1,"options":{LISTS}}}\n',
    "snippets.py": f"from opperf.snippets import GroupedStmts\nBENCHMARKS = {'-' * DEPTH}1\n",
}


@pytest.mark.parametrize("name", FILES)
def test_every_reader_refuses_a_file_that_is_nested_too_deep(tmp_path, name):
    path = tmp_path / name
    path.write_text(FILES[name])
    for reader in (open_source, read):
        with pytest.raises(OpperfError) as caught:
            reader(path)
        assert str(path) in str(caught.value) and "\n" not in str(caught.value)
        assert caught.value.exit_code == 2
    is_source(path)


@pytest.mark.parametrize(
    "text, twice",
    [
        ('{"a": 1, "b": {"a": 2}}', ""),
        ('{"a": 1, "a": 2}', "a"),
        ('[{"b": [{"c": 1, "c" : 1}]}]', "c"),
        # The same key, written in another way.
        ('{"a": 1, "\\u0061": 2}', "a"),
        # What looks like a key in a string is none.
        ('{"a": "\\"a\\": 1", "b": "c\\":"}', ""),
    ],
)
def test_a_key_that_an_object_has_twice_is_an_error(text, twice):
    if not twice:
        assert read_json(text) == json.loads(text)
        assert decode(msgspec.json.decode, text.encode()) == json.loads(text)
        return
    with pytest.raises(EqualKeysError, match=f"the key '{twice}' is there twice"):
        read_json(text)
    with pytest.raises(msgspec.DecodeError, match="twice"):
        decode(msgspec.json.decode, text if isinstance(text, bytes) else text.encode())
    assert not are_distinct(text.encode())


@pytest.mark.parametrize(
    "text", ['"\\ud800"', '{"\\uDFFF": 1}', '["\\ud83d\\u0041"]', b'"\xed\xa0\x80"']
)
def test_half_of_a_character_is_an_error_of_the_text(text):
    with pytest.raises(ValueError, match="it has half of a character"):
        read_json(text)
    with pytest.raises(msgspec.DecodeError):
        decode(msgspec.json.decode, text if isinstance(text, bytes) else text.encode())
    assert read_json('"\\ud83d\\ude00 \\\\ud800"') == "\U0001f600 \\ud800"
    assert with_whole_characters({"\ud800": ["a\udfff"]}) == {"?": ["a?"]}


def test_bytes_that_are_no_text_are_an_error_of_the_text():
    with pytest.raises(msgspec.DecodeError, match="it is no text in UTF-8"):
        decode(msgspec.json.decode, b'"\xff"')


def test_integers_beyond_64_bits_are_floats():
    assert read_json(f"[{2**63 - 1}, {2**63}, {-(2**63)}, 1{'0' * 5000}]") == [
        *(2**63 - 1, float(2**63), -(2**63), float("inf"))
    ]
    assert type(read_json(str(2**63 - 1))) is int


LAUGHS = "a: &a0 [x, x]\n" + "".join(
    f"b{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 20)}]\n" for n in range(1, 7)
)


@pytest.mark.parametrize(
    "text, message",
    [
        (LAUGHS, "more than 200000 values, with those of aliases"),
        ("a: &a {b: [*a]}", "an alias of what it is in"),
        ("[" * 102 + "]" * 102, "nested more than 100 deep"),
        ("[" * DEPTH, ""),
        ("a: 2026-99-99", "month must be in"),
        (b"\xff", ""),
        ("a: [b", ""),
    ],
)
def test_yaml_is_bounded(text, message):
    yaml = pytest.importorskip("yaml")
    with pytest.raises(yaml.YAMLError, match=message):
        read_yaml(text)


def test_yaml_and_toml_are_read_up_to_the_bounds():
    pytest.importorskip("yaml")
    assert read_yaml("a: &a [1, 2.5]\nb: [*a, *a, null]") == {
        "a": [1, 2.5],
        "b": [[1, 2.5], [1, 2.5], None],
    }
    assert read_yaml("") is None
    assert read_toml("a = [[1]]") == {"a": [[1]]}
    with pytest.raises(ValueError, match="nested more than 100 deep"):
        read_toml("a = " + "[" * DEPTH)
