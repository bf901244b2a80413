import msgspec
import pytest

from opperf.errors import UsageError
from opperf.instruments.callgrind import valgrind
from opperf.instruments.callgrind.valgrind import CallgrindLauncher, Valgrind
from opperf.metrics import check_instruments, launcher_of, process_settings
from opperf.model import Settings

COUNTED = Settings(profiler="instructions")


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Makes a program called valgrind, that prints a version, the only one on the path."""

    def make(version):
        path = tmp_path / "valgrind"
        path.write_text(f"#!/bin/sh\necho {version}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        valgrind.installed.cache_clear()
        return str(path)

    yield make
    valgrind.installed.cache_clear()


def test_without_valgrind_a_line_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="needs Valgrind; install it: apt-get install valgrind"):
        Valgrind()


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        ("valgrind-3.15.0", "needs Valgrind 3.16 or later, and .* is valgrind-3.15.0"),
        ("something", "is not Valgrind: --version printed 'something'"),
    ],
)
def test_another_program_is_refused(program, printed, words):
    program(printed)
    with pytest.raises(UsageError, match=words):
        Valgrind()


def test_only_cases_that_count_need_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    valgrind.installed.cache_clear()
    check_instruments([Settings()])
    with pytest.raises(UsageError, match="needs Valgrind"):
        check_instruments([Settings(), COUNTED])


def test_the_command_has_the_options_of_the_settings(program, tmp_path):
    path = program("valgrind-3.19.0")
    words = Valgrind().command(tmp_path / "dump", COUNTED)
    assert words[words.index(path) + 1 :] == [
        "--tool=callgrind",
        # Without pipes for a debugger, which would remain when the process is killed.
        "--vgdb=no",
        "--instr-atstart=no",
        "--cache-sim=no",
        "--branch-sim=no",
        f"--callgrind-out-file={tmp_path}/dump.%p",
    ]
    cached = msgspec.structs.replace(COUNTED, callgrind_cache=True)
    assert {"--cache-sim=yes", "--branch-sim=yes"} < set(Valgrind().command(tmp_path, cached))


def test_a_process_that_counts_is_of_its_own_kind():
    assert process_settings(Settings()) == Settings()
    own = {"threads": 2, "env": {"A": "1"}, "python": "new"}
    assert process_settings(Settings(**own, dtype="int8", profiler="python")) == Settings(**own)
    assert process_settings(COUNTED) == Settings(profiler="instructions", threads=1)
    more = msgspec.structs.replace(COUNTED, threads=2, callgrind_cache=True, dtype="int8")
    assert process_settings(more) == Settings(
        profiler="instructions", threads=2, callgrind_cache=True
    )


def test_caches_are_simulated_only_where_instructions_are_counted():
    wrong = Settings(profiler="native", callgrind_cache=True)
    with pytest.raises(UsageError, match="--callgrind-cache is for --profiler instructions"):
        check_instruments([wrong])


@pytest.fixture
def variables():
    """Returns the variables of a process that counts, without those of its dumps."""

    def made(framework, settings, **current):
        launcher = CallgrindLauncher(framework, settings)
        try:
            found = launcher.variables(current)
        finally:
            launcher.close()
        del found[valgrind.DUMPS]
        return found

    return made


def test_the_allocator_comes_before_what_is_preloaded_already(monkeypatch, variables):
    monkeypatch.setattr(valgrind, "library", lambda: "/cache/heap.so")
    own = {"LD_PRELOAD": "/cache/heap.so", "PYTHONMALLOC": "malloc", **valgrind.STEADY}
    assert variables("numpy", COUNTED, PYTHONHASHSEED="7") == own
    more = variables("numpy", COUNTED, LD_PRELOAD="/other.so", PYTHONMALLOC="debug")
    assert more["LD_PRELOAD"] == "/cache/heap.so:/other.so" and more["PYTHONMALLOC"] == "debug"

    def refuse():
        raise valgrind.HeapError("no C compiler")

    monkeypatch.setattr(valgrind, "library", refuse)
    kept = {"LD_PRELOAD": "/other.so", **valgrind.STEADY}
    assert variables("numpy", COUNTED, LD_PRELOAD="/other.so") == kept


def test_a_frameworks_own_variables_hold_where_none_are_set(variables):
    name = "MXNET_ENGINE_TYPE"
    assert variables("mxnet", COUNTED)[name] == "NaiveEngine"
    assert variables("mxnet", COUNTED, **{name: "ThreadedEngine"})[name] == "ThreadedEngine"
    own = msgspec.structs.replace(COUNTED, env={name: "ThreadedEnginePerDevice"})
    assert variables("mxnet", own)[name] == "ThreadedEnginePerDevice"
    assert launcher_of("mxnet", Settings()) is None
