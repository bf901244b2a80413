"""The examples of the page on instructions run."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from opperf.commands.record import explain

PAGE = Path(__file__).resolve().parents[3] / "docs" / "instructions.md"

COMMANDS = re.findall(r"^opperf explain (.*)$", PAGE.read_text(), re.MULTILINE)

OPTIONS = re.findall(r"`(-[^`]*)`", PAGE.read_text().partition("| option |")[2])


@pytest.fixture
def folder(tmp_path, run_file, make_record, text_of, monkeypatch):
    """The files that the page names."""
    for name, count in (("base", 5), ("new", 7)):
        dumps = dict.fromkeys(("forward", "backward"), f"ob=a.so\nfn=f\n1 {count} 1")
        run_file(f"{name}.jsonl", [make_record("add")], dumps)
        for dump in (tmp_path / f"{name}.callgrind").iterdir():
            dump.write_text(dump.read_text().replace("events: Ir", "events: Ir D1mr"))
    for name in ("before", "after"):
        (tmp_path / f"{name}.callgrind").write_text(text_of("fn=f\n1 5"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("words", COMMANDS)
def test_commands(folder, words):
    done = CliRunner().invoke(explain, shlex.split(words))
    assert done.exit_code == 0, done.exception


@pytest.mark.parametrize("option", OPTIONS)
def test_options(folder, option):
    words = shlex.split(option.replace("FILE", "out.json"))
    done = CliRunner().invoke(explain, ["base.jsonl", "new.jsonl", "add", *words])
    assert done.exit_code == 0, done.exception


def test_there_are_examples():
    assert len(COMMANDS) == 2 and len(OPTIONS) == 8
