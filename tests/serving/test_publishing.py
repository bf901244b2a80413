"""A published dashboard: its files, and what it may take the place of."""

import json
import re

import pytest

from opperf.errors import OutputError, UsageError
from opperf.history.store.adding import add_runs
from opperf.history.store.events import add_alias
from opperf.history.store.opening import Store
from opperf.history.store.reading import find_project, read_projects
from opperf.opperf import cli
from opperf.serving import publishing
from opperf.serving.assets import ASSETS, PUBLISHED, policy_of
from opperf.serving.publishing import check_target, publish
from tests.history.submissions import entry, sha, submission
from tests.serving.conftest import CHANGED, NASTY, PROJECT, RUNS


def part_of(folder):
    """The folder that the page loads from."""
    (name,) = set(re.findall(r'"(publication-\w+)/', (folder / "index.html").read_text()))
    return folder / name


def data_of(part, name):
    text = (part / "data" / f"{name}.js").read_text()
    assert text.startswith(f'register("{name}",') and text.endswith(");\n")
    return json.loads(text[len(f'register("{name}",') : -3])


def rows_of(table):
    return [dict(zip(table["fields"], row, strict=True)) for row in table["rows"]]


@pytest.fixture(scope="module")
def folder(store, tmp_path_factory):
    made = tmp_path_factory.mktemp("publishing") / "public"
    publish(store, read_projects(store), made)
    return made


def test_it_has_the_page_and_all_that_this_loads(folder):
    part = part_of(folder)
    assert {path.name for path in folder.iterdir()} == {"index.html", part.name}
    page = (folder / "index.html").read_text()
    assert "http:" not in page and "https:" not in page
    loaded = re.findall(rf'(?:src|href)="{part.name}/([^"]+)"', page)
    assert (
        set(loaded)
        == {*ASSETS, *PUBLISHED}
        == {path.name for path in part.iterdir() if path.name != "data"}
    )
    assert policy_of("published").replace("'", "&#39;") in page
    assert "connect-src" not in page and "frame-ancestors" not in page
    # Whoever serves the files may read them, as those that a user makes.
    (folder.parent / "made").mkdir()
    assert part.stat().st_mode == (folder.parent / "made").stat().st_mode


def test_points_are_by_series_and_name_their_runs_once(folder):
    part = part_of(folder)
    (project,) = data_of(part, "projects")["projects"]
    assert (project["name"], project["series"]) == (PROJECT, 3)
    runs = rows_of(data_of(part, "p0/runs"))
    (softmax,) = [one for one in rows_of(data_of(part, "p0/series")) if one["name"] == "softmax"]
    assert "latest" not in softmax
    latest = data_of(part, "p0/latest/b0")
    assert latest["figures"][str(softmax["id"])] == [pytest.approx(110.0), 0]
    assert latest["commits"] == [sha(RUNS)]
    found = data_of(part, f"p0/series/{softmax['id']}")
    assert [(runs[place]["commit"]["sha"], median) for place, median, *_ in found["points"]] == [
        (sha(number), pytest.approx(110.0 if number >= CHANGED else 100.0))
        for number in range(1, RUNS + 1)
    ]
    assert [one["verdict"] for one in found["verdicts"]] == ["regressed"]
    events = data_of(part, "p0/events")
    assert [one["machine"] for one in rows_of(events["events"])] == ["e0", "e0"]
    assert [one["state"] for one in events["states"]["1"]] == ["new"]


def test_no_file_has_a_name_as_markup(folder):
    part = part_of(folder)
    assert NASTY in [one["name"] for one in rows_of(data_of(part, "p0/series"))]
    for path in (part / "data").rglob("*.js"):
        assert not set(path.read_bytes()) & set(b"<>&") and path.read_bytes().isascii()


def test_a_renamed_series_goes_on_as_the_new_one(tmp_path):
    with Store(str(tmp_path / "history.sqlite")) as store:
        add_runs(store, "p", [submission(1, entry(1.0)), submission(2, entry(2.0))])
        add_runs(store, "p", [submission(3, entry(3.0, case="c9"))])
        dirty = submission(4, entry(9.0, case="c9"), is_dirty=True)
        add_runs(store, "p", [dirty, submission(5, entry(4.0, case="c9"), branch="é𝄞")])
        add_alias(store, find_project(store), "c0", "c9", "renamed")
        publish(store, read_projects(store), tmp_path / "public")
    part = part_of(tmp_path / "public")
    assert data_of(part, "p0/series")["renamed"] == {"1": 2}
    assert data_of(part, "projects")["projects"][0]["branches"] == ["é𝄞", "main"]
    assert (part / "data" / "projects.js").read_bytes().isascii()
    points = data_of(part, "p0/series/2")["points"]
    assert [median for _, median, *_ in points] == [1.0, 2.0, 3.0, 4.0]
    assert [path.name for path in (part / "data/p0/series").iterdir()] == ["2.js"]


def test_a_later_publication_takes_the_place_of_an_earlier_one(store, tmp_path):
    folder = tmp_path / "public"
    folder.mkdir()
    publish(store, read_projects(store), folder)
    first = part_of(folder)
    (folder / "CNAME").write_text("perf.example.org")
    # One that was killed before its page was written.
    (folder / "publication-0" / "data").mkdir(parents=True)
    publish(store, read_projects(store), folder)
    second = part_of(folder)
    assert first != second and {path.name for path in folder.iterdir()} == {
        "index.html",
        "CNAME",
        second.name,
    }


def test_one_that_breaks_off_leaves_the_earlier_one_whole(store, tmp_path, monkeypatch):
    folder = tmp_path / "public"

    def fail(*given):
        raise OSError(28, "No space left on device")

    for is_first in (True, False):
        with monkeypatch.context() as patched:
            patched.setattr(publishing, "_events", fail)
            with pytest.raises(OutputError, match="public cannot be written: No space left"):
                publish(store, read_projects(store), folder)
        if is_first:
            assert not list(folder.iterdir())
            publish(store, read_projects(store), folder)
            before = sorted(folder.rglob("*"))
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("name", ["notes.txt", "index.html", ".git"])
def test_other_files_are_never_taken_for_a_publication(tmp_path, name):
    (tmp_path / name).write_text("<title>mine</title>")
    with pytest.raises(OutputError, match="is not empty, and no earlier publication"):
        check_target(tmp_path)
    with pytest.raises(OutputError, match="is a file"):
        check_target(tmp_path / name)


def test_the_command_publishes_what_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OPPERF_HISTORY", str(tmp_path / "history.sqlite"))
    with Store(str(tmp_path / "history.sqlite")) as store:
        for name in ("a", "b", "c"):
            add_runs(store, name, [submission(1, entry(), id=name)])
    folder = tmp_path / "public"
    words = ["history", "publish", str(folder), "--project", "c", "--project", "a"]
    assert cli.main(words, standalone_mode=False) == 0
    assert f"2 projects written to {folder}" in capsys.readouterr().err
    projects = data_of(part_of(folder), "projects")["projects"]
    assert [one["name"] for one in projects] == ["c", "a"]
    with pytest.raises(UsageError, match="unknown project 'd'"):
        cli.main([*words, "--project", "d"], standalone_mode=False)
