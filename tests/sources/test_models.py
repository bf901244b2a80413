"""Words that name models, and the cases that they make."""

import pytest
from msgspec import structs

from opperf.errors import UsageError
from opperf.model import ModelTarget, Settings
from opperf.models.base import SuiteModel
from opperf.sources import models
from opperf.sources.models import SuiteSource, of_suite, of_user, read_suite, read_word
from opperf.sources.varying import disambiguate, with_settings


@pytest.fixture(autouse=True)
def suites(monkeypatch):
    monkeypatch.setattr(models, "available", lambda: {"nets": "", "vision": ""})


LISTED = (SuiteModel("mlp", why="Two layers"), SuiteModel("ResNet18"), SuiteModel("resnet50"))


@pytest.mark.parametrize(
    "word, suite, pattern, place, arguments",
    [
        ("nets", "nets", "", "", {}),
        ("nets:res*", "nets", "res*", "", {}),
        ("dir/my.py:make", "", "", "dir/my.py:make", {}),
        ("package.module:make", "", "", "package.module:make", {}),
        (
            "my.py:Net(3, width=[1, 2], name='a,b')",
            "",
            "",
            "my.py:Net",
            {"0": 3, "width": (1, 2), "name": "a,b"},
        ),
    ],
)
def test_a_word_names_a_suite_or_a_users_function(word, suite, pattern, place, arguments):
    found = read_word(word)
    assert (found.suite, found.pattern, found.place) == (suite, pattern, place)
    assert found.arguments == arguments


@pytest.mark.parametrize("word", ["relu", "nd.add", "re:^sum", "re:sum", "broadcast_*", "a.json"])
def test_other_words_are_operators_or_files(word):
    assert read_word(word) is None


@pytest.mark.parametrize("text", ["width=", "1 +", "width=open('x')", "**{}"])
def test_arguments_are_numbers_and_texts(text):
    with pytest.raises(UsageError, match="are no arguments; write numbers, texts and tuples"):
        read_word(f"my.py:Net({text})")


def test_a_pattern_selects_models_of_a_suite_whatever_the_case():
    found = of_suite("torch", read_word("nets:RES*"), LISTED)
    assert [candidate.target.name for candidate in found] == ["ResNet18", "resnet50"]
    with pytest.raises(UsageError, match="no model 'resnet5'; did you mean resnet50"):
        list(of_suite("torch", read_word("nets:resnet5"), LISTED))


def test_the_case_of_a_phase_has_its_passes():
    (mlp,) = of_suite("jax", read_word("nets:mlp"), LISTED)
    train, predict = (mlp.case(Settings(phase=phase)) for phase in ("train", "predict"))
    assert train.target == ModelTarget("jax", "mlp", suite="nets")
    assert (train.passes, predict.passes) == (("forward", "backward"), ("forward",))
    assert train.why == "Two layers" and train.origin == "suite nets"


def test_a_model_of_two_frameworks_has_their_names_in_results():
    cases = [
        one.case(Settings(mode=mode))
        for framework in ("jax", "torch")
        for one in of_suite(framework, read_word("nets:mlp"), LISTED)
        for mode in ("eager", "jit")
    ]
    batch = structs.replace(cases[0].target, batch_size=8)
    cases.append(structs.replace(cases[0], target=batch))
    assert [case.label for case in disambiguate(cases)] == [
        *("jax:nets:mlp", "jax:nets:mlp", "torch:nets:mlp", "torch:nets:mlp", "mlp batch 8")
    ]


def test_a_users_function_is_looked_for_where_the_word_says():
    by_file = of_user("torch", read_word("my.py:Net(2)")).target
    assert by_file == ModelTarget("torch", "Net", file="my.py", arguments={"0": 2})
    by_module = of_user("torch", read_word("package.module:make")).target
    assert by_module == ModelTarget("torch", "package.module:make")


def test_another_interpreter_looks_for_no_module_in_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "opperf_mine.py").write_text("")
    monkeypatch.chdir(tmp_path)
    word = read_word("opperf_mine:make")
    here = ModelTarget("torch", "make", file="opperf_mine.py")
    assert of_user("torch", word).target == here
    assert of_user("torch", word, own_modules=True).target == ModelTarget("torch", word.place)


def test_a_suite_is_a_source_once_a_worker_has_listed_it():
    asked = []

    class Worker:
        def models(self, suite, folder):
            asked.append((suite, folder))
            return LISTED

    source = SuiteSource("torch", read_suite("nets:res*"))
    assert list(source.cases()) == [] and read_suite("add") is None
    source.list_by(Worker().models)
    assert [case.label for case in source.cases()] == ["ResNet18", "resnet50"]
    assert asked == [("nets", "")]
    assert {case.settings.profiler for case in source.cases()} == {"python"}


def test_a_model_that_trains_has_a_backward_pass():
    (case,) = (one.case(Settings()) for one in of_suite("torch", read_word("nets:mlp"), LISTED))
    trained = with_settings(case, {"phase": "train"})
    assert (case.passes, trained.passes) == (("forward",), ("forward", "backward"))
    assert with_settings(trained, {"phase": "predict"}).id == case.id
    assert with_settings(trained, {"mode": "compile"}).passes == trained.passes
