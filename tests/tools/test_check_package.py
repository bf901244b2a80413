"""The checks of the package, and what an index shows of the README."""

import runpy
from pathlib import Path

import pytest
import setuptools

from tools.check_package import content_faults, main, metadata_faults

ROOT = Path(__file__).resolve().parents[2]

INFORMATION = "opperf-0.1.0.dist-info"
REPOSITORY = {"opperf/a.py", "opperf/b.json", "opperf/of/LICENSE", "tests/c.py", "LICENSE"}
WHEEL = [
    "opperf/a.py",
    "opperf/b.json",
    "opperf/of/LICENSE",
    f"{INFORMATION}/METADATA",
    f"{INFORMATION}/licenses/LICENSE",
    f"{INFORMATION}/licenses/opperf/of/LICENSE",
]


def made(names):
    return dict.fromkeys(names, b"")


@pytest.mark.parametrize(
    ("wheel", "sdist", "fault"),
    [
        ([*WHEEL, "tests/c.py"], REPOSITORY, "wheel: tests/c.py does not belong there"),
        (set(WHEEL) - {"opperf/b.json"}, REPOSITORY, "wheel: opperf/b.json is missing"),
        (WHEEL, REPOSITORY - {"tests/c.py"}, "source distribution: tests/c.py is missing"),
        (WHEEL, {*REPOSITORY, "x.pyc"}, "source distribution: x.pyc does not belong there"),
        (WHEEL[:-1], REPOSITORY, "license-files: opperf/of/LICENSE is missing"),
    ],
)
def test_a_file_too_few_or_too_many_is_named(wheel, sdist, fault):
    assert list(content_faults(made(wheel), made(sdist), REPOSITORY)) == [fault]


def test_what_setuptools_adds_is_no_fault():
    sdist = {*REPOSITORY, "PKG-INFO", "setup.cfg", "opperf.egg-info/SOURCES.txt"}
    assert list(content_faults(made(WHEEL), made(sdist), {*REPOSITORY, ".gitignore"})) == []


def test_relative_links_and_another_version_are_faults():
    pytest.importorskip("cmarkgfm")
    text = "Version: 9.9\n\n[a](docs/a.md) [b](https://example.org) ![c](docs/c.png)\n"
    faults = list(metadata_faults({f"{INFORMATION}/METADATA": text.encode()}))
    assert [one.split(" leads")[0].split(" is not")[0] for one in faults] == [
        "metadata: the README's link to docs/a.md",
        "metadata: the README's link to docs/c.png",
        "CITATION.cff: its version",
    ]


def test_a_folder_without_a_package_is_said(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path)])
    assert ended.value.code == 2
    assert f"{tmp_path} has 0 wheels and 0 source distributions" in capsys.readouterr().err


@pytest.fixture
def set_up(monkeypatch):
    """Returns what setup.py gives to setuptools, and the README's text as an index shows it."""

    def run(repository):
        given = {}
        monkeypatch.setenv("OPPERF_REPOSITORY", repository)
        monkeypatch.setattr(setuptools, "setup", given.update)
        names = runpy.run_path(str(ROOT / "setup.py"))
        return given, names["index_readme"]

    return run


TEXT = """\
[![chart](docs/a.svg)](docs/a.md)
![chart](docs/a.svg) <img src="docs/b.png" alt="page"> [guide](docs/guide.md#top) [top](#top)
[`run`](docs/run.md) `[x](y)` [site](https://example.org)

```
[a](b)
```
"""


def test_without_a_repository_links_are_paths(set_up):
    given, shown = set_up("")
    assert given["project_urls"] == {}
    assert shown(TEXT) == (
        "chart (`docs/a.md`)\n"
        "chart page guide (`docs/guide.md`) [top](#top)\n"
        "`run` (`docs/run.md`) `[x](y)` [site](https://example.org)\n\n```\n[a](b)\n```\n"
    )


def test_with_a_repository_links_lead_to_it(set_up):
    given, shown = set_up("https://example.org/opperf/")
    assert given["project_urls"]["Repository"] == "https://example.org/opperf"
    text = shown(TEXT)
    for link in (
        "[![chart](https://example.org/opperf/raw/HEAD/docs/a.svg)]"
        "(https://example.org/opperf/blob/HEAD/docs/a.md)",
        '<img src="https://example.org/opperf/raw/HEAD/docs/b.png" alt="page">',
        "[guide](https://example.org/opperf/blob/HEAD/docs/guide.md#top) [top](#top)",
        "[`run`](https://example.org/opperf/blob/HEAD/docs/run.md) `[x](y)` ",
        "\n[a](b)\n",
    ):
        assert link in text
