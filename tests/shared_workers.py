"""Workers that outlive the command that they are for, so that the next need not start one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from opperf.comparison.ab import arms as arms_module
from opperf.execution import workers as workers_module
from opperf.machine.pinning import NOT_PINNED, Cpus
from opperf.model import Settings
from opperf.sources.varying import process_key
from opperf.worker import client as client_module
from opperf.worker.client import Worker


class SharedWorker(Worker):
    """One of them."""

    def __exit__(self, *error: object) -> None:
        """Leave the process to the next command."""


MOST = 5
"""Processes that are kept: each has hundreds of megabytes, and several processes run tests."""


@contextmanager
def sharing() -> Iterator[Callable[..., Worker]]:
    """Yields what is used in place of `Worker`: one process for each framework and set of process
    settings. They end at the end, or once `MOST` others were used since."""
    started: dict[tuple[str, str, Cpus, bool], SharedWorker] = {}

    def given(
        framework: str,
        settings: Settings | None = None,
        python: str = "",
        cpus: Cpus = NOT_PINNED,
        profiles: Path | None = None,
    ) -> Worker:
        settings = settings or Settings()
        key = (process_key(framework, settings), python, cpus, settings.memory)
        worker = started.pop(key, None) or SharedWorker(
            framework, settings, python=python, cpus=cpus
        )
        started[key] = worker
        if len(started) > MOST:
            started.pop(next(iter(started))).end()
        return worker

    yield given
    for worker in started.values():
        worker.end()


def replace_workers(
    monkeypatch: pytest.MonkeyPatch, worker: Callable[..., Worker]
) -> pytest.MonkeyPatch:
    """Has commands in this process use these workers."""
    for module in (workers_module, client_module):
        monkeypatch.setattr(module, "Worker", worker)
    return monkeypatch


def share_arms(monkeypatch: pytest.MonkeyPatch, worker: Callable[..., Worker]) -> None:
    """Has `ab` plan its arms with these workers; not for sessions, whose processes are all new."""

    def of_arm(
        framework: str, settings: Settings, environment: object, python: str, *_: Any, **__: Any
    ) -> Worker:
        return worker(framework, settings, python)

    monkeypatch.setattr(arms_module, "Worker", of_arm)
