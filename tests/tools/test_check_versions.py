"""The versions that opperf is checked with, and the table of what came of it."""

import msgspec
import pytest
from packaging.version import Version

from opperf.frameworks import installed as table
from opperf.frameworks.installed import SweptVersion
from opperf.rules.faults import guarded
from opperf.rules.registering import NoInputs
from tools import check_versions
from tools.check_versions import (
    BEGIN,
    END,
    FRAMEWORKS,
    PAGE,
    Checked,
    declared,
    installations,
    is_fault,
    main,
    markdown,
    with_table,
)

ROW = SweptVersion("numpy", "oldest", "1.23.0", "3.10.13", 436, 432, 1120, 0, 0, "2026-11-28")


def test_the_oldest_is_what_the_project_takes_unless_a_reason_is_given():
    chosen = {one.name: (one.requirement, one.python) for one in installations(FRAMEWORKS)}
    assert chosen["numpy-oldest"] == ("numpy==1.23", "3.10")
    assert chosen["jax-oldest"] == ("jax==0.6", "3.10")
    assert chosen["jax-newest"] == ("jax", "3.13")
    assert chosen["mxnet-newest"][0] == "mxnet==2.0.0b1"
    assert len(chosen) == 2 * len(FRAMEWORKS)
    assert [one.name for one in installations(["jax:newest"])] == ["jax-newest"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_table_has_versions_that_the_project_takes(framework):
    rows = table.tested_versions(framework)
    versions = [Version(row.version) for row in rows]
    assert rows and versions == sorted(set(versions))
    for row in rows:
        assert declared(framework).specifier.contains(row.version, prereleases=True)
        assert 0 < row.measured <= row.operators


def test_the_documentation_has_the_table_of_the_package():
    page = PAGE.read_text()
    assert (
        with_table(page, [row for name in FRAMEWORKS for row in table.tested_versions(name)])
        == page
    )


def test_written_rows_replace_those_of_the_same_end(tmp_path, monkeypatch):
    monkeypatch.setattr(check_versions, "TABLE", tmp_path / "tested.json")
    monkeypatch.setattr(check_versions, "PAGE", tmp_path / "page.md")
    jax = msgspec.structs.replace(ROW, framework="jax", version="0.6.0")
    newest = msgspec.structs.replace(ROW, end="newest", version="2.5.5")
    check_versions.TABLE.write_bytes(msgspec.json.encode([ROW, newest]))
    check_versions.PAGE.write_text("before\n" + BEGIN + END + "after\n")
    later = msgspec.structs.replace(newest, version="2.6.0")
    check_versions.write([jax, later])
    written = [ROW, later, jax]
    assert (
        msgspec.json.decode(check_versions.TABLE.read_bytes(), type=list[SweptVersion]) == written
    )
    assert check_versions.PAGE.read_text() == (
        f"before\n{BEGIN}\n{markdown(written)}\n{END}after\n"
    )


def test_a_fault_of_opperf_is_told_from_other_reasons():
    def fails():
        raise KeyError("amax")

    made = guarded(fails)
    assert isinstance(made, NoInputs) and is_fault(made.reason)
    assert is_fault(guarded(fails, "the trace of its caller jnp.max failed").reason)
    assert not is_fault("no rule has a value for charm (int)")


@pytest.mark.parametrize(
    ("arguments", "changes", "unmeasured", "code"),
    [
        ((), {}, (), 0),
        ((), {"failed": 1}, ("max: it failed",), 0),
        (("--quick",), {"failed": 1}, ("max: it failed",), 1),
    ],
)
def test_what_ends_with_1(arguments, changes, unmeasured, code, monkeypatch, capsys):
    row = msgspec.structs.replace(ROW, **changes)
    monkeypatch.setattr(check_versions, "install", lambda one, package, folder: folder)
    monkeypatch.setattr(check_versions, "check", lambda *asked: Checked(row, (), unmeasured))
    assert main(["numpy", *arguments]) == code
    out, err = capsys.readouterr()
    assert out == markdown([row, row])
    assert err.splitlines() == [
        f"numpy-{end}: {one}" for end in ("oldest", "newest") for one in unmeasured
    ]


def test_a_command_that_fails_leaves_the_other_versions_to_be_checked(monkeypatch, capsys):
    def check(one, *asked):
        if one.end == "oldest":
            raise RuntimeError("opperf list ended with 2:\nwhy")
        return Checked(ROW, (), ())

    monkeypatch.setattr(check_versions, "install", lambda one, package, folder: folder)
    monkeypatch.setattr(check_versions, "check", check)
    assert main(["numpy"]) == 1
    out, err = capsys.readouterr()
    assert out == markdown([ROW]) and err == "numpy-oldest: opperf list ended with 2:\nwhy\n"
