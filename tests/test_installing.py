"""The command that installs opperf with an extra, by where this one came from."""

import json
from importlib import metadata

import pytest

from opperf import extras
from opperf.extras import install_command

REPOSITORY = "https://example.org/someone/opperf.git"


@pytest.fixture
def recorded(monkeypatch):
    """Sets what pip recorded of its source."""

    def record(content):
        class Distribution:
            def read_text(self, name):
                assert name == "direct_url.json"
                return None if content is None else json.dumps(content)

        monkeypatch.setattr(extras.metadata, "distribution", lambda name: Distribution())

    return record


@pytest.mark.parametrize(
    ("source", "command"),
    [
        ({"dir_info": {}}, "pip install '{folder}[plot]'"),
        ({"dir_info": {"editable": True}}, "pip install -e '{folder}[plot]'"),
        ({"archive_info": {}}, "pip install '{folder}[plot]'"),
    ],
)
def test_a_folder_or_wheel(recorded, tmp_path, source, command):
    folder = tmp_path / "a b"
    folder.mkdir()
    recorded(source | {"url": folder.as_uri()})
    assert install_command("opperf[plot]") == command.format(folder=folder)


def test_a_wheel_that_is_gone_is_the_installed_one(recorded, tmp_path):
    recorded({"archive_info": {}, "url": (tmp_path / "opperf-1.whl").as_uri()})
    assert install_command("opperf[plot]") == "pip install 'opperf[plot]'"


@pytest.mark.parametrize(
    ("asked", "revision"), [({"requested_revision": "main"}, "main"), ({}, "1a2b")]
)
def test_a_repository(recorded, asked, revision):
    recorded({"vcs_info": {"vcs": "git", "commit_id": "1a2b"} | asked, "url": REPOSITORY})
    assert (
        install_command("opperf[torch]")
        == f"pip install 'opperf[torch] @ git+{REPOSITORY}@{revision}'"
    )


def test_a_wheel_on_a_server(recorded):
    recorded({"archive_info": {}, "url": "https://example.org/opperf-1.whl"})
    assert (
        install_command("opperf[jax]")
        == "pip install 'opperf[jax] @ https://example.org/opperf-1.whl'"
    )


def test_a_checkout_that_is_not_installed(monkeypatch, tmp_path):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(extras.metadata, "distribution", absent)
    monkeypatch.setattr(extras, "CHECKOUT", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    assert install_command("opperf[mxnet]") == f"pip install '{tmp_path}[mxnet]'"


def test_from_an_index(recorded, monkeypatch, tmp_path):
    recorded(None)
    monkeypatch.setattr(extras, "CHECKOUT", tmp_path)
    assert install_command("opperf[mxnet]") == "pip install 'opperf[mxnet]'"


def test_other_packages_are_taken_by_their_name():
    assert install_command("numpy") == "pip install numpy"
    assert install_command("numpy<2") == "pip install 'numpy<2'"
    assert install_command("opperf-mine[all]") == "pip install 'opperf-mine[all]'"
