"""ncu's command and its table, as its manual has them."""

from pathlib import Path

from opperf.instruments.wrapped.ncu import COLUMNS, Ncu, kernels
from opperf.instruments.wrapped.program import Calls, ProcessFiles, range_name
from opperf.model import Wrapper

HEAD = '"ID","thread Domain:Push/Pop_Range:PL_Type","Id:Domain:Start/Stop_Range:PL_Type"'
HEAD += (
    ',"Kernel Name","gpu__time_duration.sum","dram__bytes_read.sum","lts__t_sector_hit_rate.pct"'
)
UNITS = '"","","","","usecond","Kbyte","%"'


def row(case, number, ns, size, hits, thread=True, name="forward"):
    inner = f"<default domain>:{range_name(case, name, number)}:none"
    ranges = f'1  ""<default domain>:opperf:none""  ""{inner}""'
    cells = [ranges, ""] if thread else ["", ranges]
    return ",".join(f'"{cell}"' for cell in ["0", *cells, "k(int, float)", ns, size, hits])


def read(tmp_path, *rows, log="", passes=("forward",)):
    files = ProcessFiles(tmp_path / "report", tmp_path / "log", tmp_path / "table")
    files.log.write_text(log)
    files.table.write_text("\n".join(["==PROF== Connected", HEAD, UNITS, *rows, "==PROF== end"]))
    made = {"ab12": dict.fromkeys(passes, Calls(2, 2))}
    return Ncu().read(files, made, {})["ab12"]


def test_a_call_has_the_figures_of_its_kernels_in_opperfs_units(tmp_path):
    found = read(
        tmp_path,
        row("ab12", 0, "1,000.5", "2", "10"),
        row("ab12", 0, "2,999.5", "3", "50"),
        row("ab12", 1, "1.5", "4", "n/a", thread=False),
        row("cd34", 0, "7", "7", "7"),
    )
    # A sum, a sum in bytes, and a mean by the kernels' times, which one call lacks.
    assert found.samples["ncu_time"] == [4_000_000.0, 1500.0]
    assert found.samples["ncu_read"] == [5000.0, 4000.0]
    assert found.samples["ncu_l2_hits"] == [(10 * 1000.5 + 50 * 2999.5) / 4000]
    assert found.samples["ncu_kernels"] == [2, 1]
    assert found.units["ncu_read"] == "B" and found.units["ncu_l2_hits"] == "%"


def test_the_backward_pass_has_metrics_of_its_own(tmp_path):
    found = read(
        tmp_path, row("ab12", 0, "1", "2", "3", name="backward"), passes=("forward", "backward")
    )
    assert found.samples["ncu_time_backward"] == [1000.0] and "ncu_time" not in found.samples
    (note,) = found.notes
    assert note.message == "ncu has no figures of the forward pass: it launched no kernel"


def test_without_a_table_there_is_ncus_own_error(tmp_path):
    files = ProcessFiles(tmp_path / "report", tmp_path / "log", tmp_path / "none")
    files.log.write_text("==ERROR== ERR_NVGPUCTRPERM - no permission\n==PROF== end\n")
    (note,) = Ncu().read(files, {"ab12": {"forward": Calls(1, 1)}}, {})["ab12"].notes
    assert note.message.endswith("ERR_NVGPUCTRPERM - no permission")


def test_a_line_cut_short_is_ignored():
    whole = row("ab12", 0, "1", "2", "3")
    assert len(list(kernels("\n".join([HEAD, UNITS, whole, whole[:40]])))) == 1
    assert not list(kernels(""))


def command(*own):
    files = ProcessFiles(Path("r"), Path("l"), Path("t"))
    return Ncu().command(Wrapper("ncu", ("ncu", *own), 5, 1), files)


def test_only_ranges_of_calls_are_profiled_of_a_thread_and_of_the_process():
    words = command()
    includes = [words[i + 1] for i, word in enumerate(words) if word == "--nvtx-include"]
    assert includes == ["opperf/", "opperf", "opperf@opperf/", "opperf@opperf"]
    assert words.count("--nvtx") == 1 and words[0] == "ncu"


def test_metrics_are_asked_for_unless_the_user_chooses():
    asked = command()[command().index("--metrics") + 1].split(",")
    assert asked == [column.source for column in COLUMNS]
    for own in (["--set", "full"], ["--metrics=a"], ["--section", "SpeedOfLight"]):
        assert command(*own)[-len(own) :] == own
        assert sum(word.startswith("--metrics") for word in command(*own)) == ("=a" in own[0])


def test_a_metric_of_the_users_keeps_ncus_name_and_unit(tmp_path):
    head = HEAD.replace("dram__bytes_read.sum", "sm__cycles_active.max")
    units = UNITS.replace("Kbyte", "cycle")
    lines = [head, units, row("ab12", 0, "1", "5", "9"), row("ab12", 0, "1", "6", "9")]
    files = ProcessFiles(tmp_path / "report", tmp_path / "log", tmp_path / "table")
    files.table.write_text("\n".join(lines))
    found = Ncu().read(files, {"ab12": {"forward": Calls(1, 1)}}, {})["ab12"]
    assert found.samples["ncu.sm__cycles_active.max"] == [6.0]
    assert found.units["ncu.sm__cycles_active.max"] == "cycle"
