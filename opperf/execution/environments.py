"""The environments of a run, which stay the same while it lasts."""

from __future__ import annotations

from opperf.errors import RunFileError
from opperf.machine.environment import lasting_differences
from opperf.model import Case, Environment, Run
from opperf.sources.varying import process_key


def check_environment(name: str, before: Environment, after: Environment) -> None:
    """Raises `RunFileError`, with the lasting differences, if there are any. `name` is that of the
    measurements in the message."""
    differing = [
        f"{field} was {old!r} and is {new!r}"
        for field, old, new in lasting_differences(before, after)
    ]
    if differing:
        raise RunFileError(
            f"{name} was measured in another environment: {'; '.join(differing)}; resume it there, "
            "or replace it with --overwrite"
        )


class Environments:
    """The environments of a run, one for each group of cases that one worker can measure.

    A worker that replaces another, or resumes a run, has to have the same environment, except for
    what is transient.
    """

    def __init__(self, earlier: Run | None = None) -> None:
        self._of: dict[str, Environment] = {}
        if earlier is not None:
            for record in earlier.records:
                if record.environment:
                    self._of[_group(record.case)] = earlier.environments[record.environment]

    def check(self, case: Case, now: Environment) -> Environment:
        """Returns the first environment of the case's group.

        Raises `RunFileError`, with the differences, if `now` is another one.
        """
        earlier = self._of.setdefault(_group(case), now)
        check_environment("the run to resume", earlier, now)
        return earlier


def _group(case: Case) -> str:
    return process_key(case.target.framework, case.settings)
