"""Models as a source: those of a suite, and those that a user's function or class makes."""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from opperf.errors import UsageError, suggest
from opperf.frameworks.user_code import IN_FILE, IN_MODULE, target_at
from opperf.model import Argument, Case, FileTarget, ModelTarget, Settings, Struct
from opperf.models.base import SIZES, SuiteModel, available
from opperf.sources.base import Source, locate
from opperf.sources.varying import passes_of

MOST_NAMES = 20
"""Names of models that an error lists: some suites have a thousand."""

CATEGORY = "model"
"""Category of the cases of models."""

WITH_ARGUMENTS = re.compile(r"(?P<place>[^()]+)\((?P<arguments>.*)\)", re.DOTALL)
"""A function or class with its arguments: `nets.py:Net(width=5)`."""

REGEX = "re:"
"""Beginning of a pattern of operators' names."""


class ModelWord(Struct, frozen=True):
    """Models that a word of a command names: of a suite, or of a user's function or class."""

    word: str
    suite: str = ""
    pattern: str = ""
    """Of the suite's models; empty for all."""
    place: str = ""
    """`FILE.py:NAME` or `MODULE:NAME` of a user's function."""
    arguments: dict[str, Argument] = {}


def read_word(word: str) -> ModelWord | None:
    """Returns what a word names; None if it can be no model. Raises `UsageError`."""
    of_a_suite = read_suite(word)
    if of_a_suite is not None:
        return of_a_suite
    if word.startswith(REGEX) or locate(word) is not None:
        return None
    match = WITH_ARGUMENTS.fullmatch(word)
    place, arguments = (match["place"], match["arguments"]) if match else (word, "")
    if not (IN_FILE.fullmatch(place) or IN_MODULE.fullmatch(place)):
        return None
    return ModelWord(word, place=place, arguments=_read_arguments(word, arguments))


def read_suite(word: str) -> ModelWord | None:
    """Returns the models that `SUITE` or `SUITE:PATTERN` names; None for another word."""
    name, _, pattern = word.partition(":")
    return ModelWord(word, suite=name, pattern=pattern) if name in available() else None


def _read_arguments(word: str, text: str) -> dict[str, Argument]:
    try:
        call = ast.parse(f"_({text})", mode="eval").body
        assert isinstance(call, ast.Call)
        found = {str(at): ast.literal_eval(value) for at, value in enumerate(call.args)}
        found.update(
            {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in call.keywords}
        )
        return msgspec.convert(
            {name: _as_tuple(value) for name, value in found.items()}, dict[str, Argument]
        )
    except (SyntaxError, ValueError, msgspec.ValidationError) as error:
        raise UsageError(
            f"{word}: ({text}) are no arguments; write numbers, texts and tuples, as "
            f"{word.partition('(')[0]}(width=64)"
        ) from error


def _as_tuple(value: object) -> object:
    return tuple(map(_as_tuple, value)) if isinstance(value, (list, tuple)) else value


def select_models(word: ModelWord, models: Iterable[SuiteModel]) -> tuple[SuiteModel, ...]:
    """Returns the models that a word selects. Raises `UsageError` if there is none."""
    listed = tuple(models)
    if not word.pattern:
        return listed
    wanted = word.pattern.casefold()
    found = tuple(model for model in listed if fnmatch.fnmatchcase(model.name.casefold(), wanted))
    if not found:
        names = [model.name for model in listed]
        more = ", ..." if len(names) > MOST_NAMES else ""
        raise UsageError(
            f"suite {word.suite} has no model {word.pattern!r}{suggest(word.pattern, names)}; it "
            f"has {len(names)}: {', '.join(names[:MOST_NAMES])}{more}"
        )
    return found


class Candidate(Struct, frozen=True):
    """A model before its settings are chosen, and what is known of it."""

    target: ModelTarget
    listed: SuiteModel
    word: ModelWord
    is_missing: bool = False
    """Whether it stands for a suite whose package is missing, as its one record will say."""

    def case(self, settings: Settings) -> Case:
        """Returns the case of the model, in the phase `train` with its backward pass."""
        return Case(
            target=self.target,
            arguments={},
            settings=settings,
            passes=passes_of(settings.phase),
            origin=f"suite {self.word.suite}" if self.word.suite else "user's model",
            why=self.listed.why,
            category=CATEGORY,
            tags=self.listed.tags,
        )


def of_suite(
    framework: str, word: ModelWord, models: Iterable[SuiteModel], folder: str = ""
) -> Iterator[Candidate]:
    """Yields the models of a suite that a word selects. Raises as `select_models`."""
    for listed in select_models(word, models):
        target = ModelTarget(framework, listed.name, suite=word.suite, folder=folder)
        yield Candidate(target, listed, word)


class SuiteSource(Source):
    """The models of a suite that a word selects, as a source. It has none before `list_by`."""

    def __init__(self, framework: str, word: ModelWord) -> None:
        super().__init__()
        self._framework, self._word = framework, word

    def list_by(self, models: Callable[[str, str], Iterable[SuiteModel]]) -> None:
        """Lists the models, by a function of the suite and its folder, as a worker has. Raises
        `UsageError` for a pattern that selects none, and `UnsupportedError` where the suite's
        package is missing."""
        settings = Settings(profiler="python")
        self._cases = [
            candidate.case(settings)
            for candidate in of_suite(self._framework, self._word, models(self._word.suite, ""))
        ]


def of_user(framework: str, word: ModelWord, own_modules: bool = False) -> Candidate:
    """Returns the model of a user's function or class, which its process has to look for; with
    `own_modules` not in the working directory."""
    found = target_at(framework, word.place, own_modules)
    assert found is not None
    name, file = (found.function, found.file) if isinstance(found, FileTarget) else (word.place, "")
    target = ModelTarget(framework, name, file=file, arguments=word.arguments)
    return Candidate(target, SuiteModel(name, sizes=SIZES), word)
