"""The plan of experiments: in which processes models are looked for."""

from contextlib import nullcontext

from opperf.execution.experiments import _check_users, examine
from opperf.model import Settings
from opperf.sources.model_matrix import Matrix
from opperf.sources.models import ModelWord, of_user
from opperf.sources.resolving import Resolution
from opperf.sources.selecting import Selection


class Workers:
    """Workers that note in which environments models were checked."""

    def __init__(self):
        self.checked = []

    def of(self, framework, settings):
        return Worker(self.checked, settings.env)

    def begin(self, framework, settings):
        return nullcontext(self.of(framework, settings))


class Worker:
    def __init__(self, checked, env):
        self._checked, self._env = checked, env

    def resolve(self, axes):
        return Resolution(axes, axes)

    def check_models(self, cases):
        self._checked += [(self._env, case.label) for case in cases]


def test_models_are_looked_for_in_each_environment_with_a_path_of_its_own():
    workers, word = Workers(), ModelWord("nets.py:net", place="nets.py:net")
    matrix = Matrix(("torch",), models=(word,))
    first, second = {"PYTHONPATH": "lib", "A": "1"}, {"PYTHONPATH": "lib", "A": "2"}
    axes = {"env": (first, second, {"PYTHONPATH": "other"})}
    place = examine(workers, "torch", "", (), matrix, axes)
    selection = Selection(settings=Settings())
    _check_users(workers, place, [of_user("torch", word)], matrix, selection)
    assert [env for env, _ in workers.checked] == [{"PYTHONPATH": "lib"}, {"PYTHONPATH": "other"}]
    workers.checked.clear()
    place = examine(workers, "torch", "", (), matrix, {"env": ({"A": "1"},)})
    _check_users(workers, place, [of_user("torch", word)], matrix, selection)
    assert [env for env, _ in workers.checked] == [{}]
