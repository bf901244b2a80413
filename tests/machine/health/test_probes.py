"""Every probe on a faked machine: well, noisy, and unreadable."""

import os

import pytest

from opperf.machine.health.examine import PROBES, examine
from opperf.machine.health.finding import Finding
from opperf.machine.kernel import THREAD_SETTINGS, CpuTimes, format_cpus, parse_cpus, this_machine

CPU = "sys/devices/system/cpu"
CLOCK = "sys/devices/system/clocksource/clocksource0"
GROUP = "sys/fs/cgroup"
V2 = {"proc/self/cgroup": "0::/a/b"}
V1 = {"proc/self/cgroup": "4:memory:/\n2:cpu,cpuacct:/docker/1"}
IDLE = "cpu 60 20 10 900 5 5 5 0 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1"
MEMINFO = "MemTotal: {} kB\nMemFree: 1 kB\nMemAvailable: {} kB\nSwapTotal: {} kB\nSwapFree: {} kB"
GIB_KB = 2**20
TICKS = os.sysconf("SC_CLK_TCK")


@pytest.fixture
def found(faked):
    """What one probe finds."""

    def read(name, files=(), **changed) -> Finding:
        (probe,) = (probe for probe in PROBES if probe.name == name)
        (one,) = examine(faked(files, **changed), [probe])
        return one

    return read


def of_each_cpu(name, *contents):
    return {f"{CPU}/cpu{cpu}/{name}": content for cpu, content in enumerate(contents)}


def pressure(resource, share):
    return {f"proc/pressure/{resource}": f"some avg10={share} avg60=1 avg300=1 total=1\nfull x"}


def siblings(*lists):
    return {f"{CPU}/smt/active": "1"} | of_each_cpu("topology/thread_siblings_list", *lists)


GOVERNOR = "cpufreq/scaling_governor"
ZONE = "sys/class/thermal/thermal_zone"
THROTTLED = "thermal_throttle/core_throttle_count"

OK = [
    ("governor", of_each_cpu(GOVERNOR, "performance", "performance"), "performance"),
    ("turbo", {f"{CPU}/intel_pstate/no_turbo": "1"}, "off"),
    ("turbo", {f"{CPU}/cpufreq/boost": "0"}, "off"),
    ("smt", {f"{CPU}/smt/active": "0"}, "off"),
    ("smt", siblings("0,4", "1,5", "2,6", "3,7"), "on, no two usable CPUs share a core"),
    ("clock_source", {f"{CLOCK}/current_clocksource": "tsc"}, "tsc"),
    ("virtualisation", {"proc/cpuinfo": "model name: x\nflags\t: fpu vme"}, "none"),
    ("virtualisation", {"proc/cpuinfo": "flags\t: fpu hypervisor"}, "virtual machine"),
    (
        "temperature",
        {f"{ZONE}0/temp": "45900", f"{ZONE}0/type": "pkg", f"{ZONE}1/temp": ""},
        "45 C at the hottest sensor, pkg",
    ),
    ("temperature", of_each_cpu(THROTTLED, 0, 0), "cores were throttled 0 times since boot"),
    ("load", {"proc/loadavg": "0.40 9 9 1/2 3"}, "0.40 in the last minute, 4 usable cores"),
    ("cpu_pressure", pressure("cpu", "4.9"), "4.9% of the last 10 s"),
    ("memory_pressure", pressure("memory", "0.00"), "0% of the last 10 s"),
    (
        "memory",
        {"proc/meminfo": MEMINFO.format(8 * GIB_KB, 6 * GIB_KB, GIB_KB, GIB_KB)},
        "6.0 of 8.0 GiB available",
    ),
    ("cpu_quota", V2 | {f"{GROUP}/a/b/cpu.max": "max 100000"}, "none"),
    ("cpu_quota", V2 | {f"{GROUP}/cgroup.procs": ""}, "none"),
    ("cpu_quota", V2 | {f"{GROUP}/a/b/cpu.max": "400000 100000"}, "4 CPUs for 4 usable"),
    ("cpu_quota", V1 | {f"{GROUP}/cpu/docker/1/cpu.cfs_quota_us": "-1"}, "none"),
    ("steal", {"proc/stat": IDLE}, "0.0% of the busy time since boot"),
    ("affinity", {f"{CPU}/online": "0-3"}, "all of 4 CPUs"),
    ("affinity", {f"{CPU}/online": "0-63"}, "4 of 64 CPUs, 0-3"),
    ("threads", {}, "none set: libraries start 4 threads"),
    ("aslr", {"proc/sys/kernel/randomize_va_space": "0"}, "off"),
    (
        "aslr",
        {"proc/sys/kernel/randomize_va_space": "2", "proc/self/personality": "00040000"},
        "off for this process",
    ),
]


@pytest.mark.parametrize("name, files, state", OK)
def test_what_is_well(found, name, files, state):
    one = found(name, files)
    assert (one.state, one.level, one.fix) == (state, "ok", "")


QUOTA = {f"{GROUP}/a/b/cpu.max": "250000 100000", f"{GROUP}/a/cpu.max": "max 100000"}
WARNINGS = [
    (
        "governor",
        of_each_cpu(GOVERNOR, "powersave", "powersave"),
        "powersave",
        "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    ),
    (
        "governor",
        of_each_cpu(GOVERNOR, "performance", "ondemand", "performance"),
        "ondemand on 1 CPU, performance on 2 CPUs",
        "echo performance | sudo tee",
    ),
    (
        "turbo",
        {f"{CPU}/intel_pstate/no_turbo": "0"},
        "on",
        "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo",
    ),
    (
        "turbo",
        {f"{CPU}/cpufreq/boost": "1"},
        "on",
        "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
    ),
    (
        "smt",
        siblings("0,2", "1,3", "0,2", "1,3"),
        "on, 4 usable CPUs are 2 cores",
        "echo off | sudo tee /sys/devices/system/cpu/smt/control",
    ),
    (
        "clock_source",
        {f"{CLOCK}/current_clocksource": "hpet", f"{CLOCK}/available_clocksource": "hpet tsc"},
        "hpet",
        "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
    (
        "clock_source",
        {f"{CLOCK}/current_clocksource": "hpet", f"{CLOCK}/available_clocksource": "hpet"},
        "hpet; no better one is available",
        "",
    ),
    ("temperature", {f"{ZONE}0/temp": "91000"}, "91 C at the hottest sensor, thermal_zone0", ""),
    ("temperature", of_each_cpu(THROTTLED, 3, 4), "cores were throttled 7 times since boot", ""),
    ("load", {"proc/loadavg": "1.10 0 0 1/2 3"}, "1.10 in the last minute", "ps -eo pcpu"),
    ("cpu_pressure", pressure("cpu", "31.5"), "31.5% of the last 10 s", "ps -eo pcpu"),
    ("memory_pressure", pressure("memory", "2.00"), "2% of the last 10 s", "ps -eo rss"),
    (
        "memory",
        {"proc/meminfo": MEMINFO.format(8 * GIB_KB, GIB_KB // 2, 0, 0)},
        "0.5 of 8.0 GiB available",
        "ps -eo rss",
    ),
    (
        "memory",
        {"proc/meminfo": MEMINFO.format(8 * GIB_KB, 6 * GIB_KB, 2 * GIB_KB, GIB_KB)},
        "6.0 of 8.0 GiB available, 1.0 GiB swapped out",
        "sudo swapoff -a && sudo swapon -a",
    ),
    ("cpu_quota", V2 | QUOTA, "2.5 CPUs for 4 usable", "taskset -cp 0-1 $$"),
    (
        "cpu_quota",
        V2
        | QUOTA
        | {
            f"{GROUP}/a/cpu.max": "150000 100000",
            f"{GROUP}/a/cpu.stat": "usage_usec 9\nnr_periods 50\nnr_throttled 7",
        },
        "1.5 CPUs for 4 usable, used up in 7 of 50 periods",
        "taskset -cp 0 $$",
    ),
    (
        "cpu_quota",
        V2 | {f"{GROUP}/a/b/cpu.max": "50000 100000"},
        "0.5 CPUs for 4 usable",
        "echo max | sudo tee /sys/fs/cgroup/a/b/cpu.max",
    ),
    (
        "cpu_quota",
        # A container sees its own group as the root, and reads the path it has outside.
        V1
        | {
            f"{GROUP}/cpu,cpuacct/cpu.cfs_quota_us": "50000",
            f"{GROUP}/cpu,cpuacct/cpu.cfs_period_us": "100000",
        },
        "0.5 CPUs for 4 usable",
        "echo -1 | sudo tee /sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us",
    ),
    (
        "cpu_quota",
        {"proc/self/cgroup": "0::/../..", f"{GROUP}/cpu.max": "100000 100000"},
        "1 CPUs for 4 usable",
        "taskset -cp 0 $$",
    ),
    (
        "steal",
        {"proc/stat": "cpu 60 20 10 900 5 5 5 25 0 0"},
        "20.0% of the busy time since boot",
        "",
    ),
    (
        "affinity",
        {
            f"{CPU}/online": "0-3",
            "sys/devices/system/node/node0/cpulist": "0,2",
            "sys/devices/system/node/node1/cpulist": "1,3",
        },
        "all of 4 CPUs, on 2 memory nodes",
        "taskset -cp 0,2 $$",
    ),
    (
        "aslr",
        {"proc/sys/kernel/randomize_va_space": "2", "proc/self/personality": "00000000"},
        "on",
        'setarch -R "$SHELL"',
    ),
]


@pytest.mark.parametrize("name, files, state, fix", WARNINGS)
def test_what_is_noisy_and_what_fixes_it(found, name, files, state, fix):
    one = found(name, files)
    assert one.level == "warn" and one.state.startswith(state) and one.fix.startswith(fix)
    assert bool(one.fix) == bool(fix) and one.explanation.endswith(".")


UNREADABLE = [
    ("governor", {}, "no frequency scaling is visible"),
    ("turbo", {}, "no frequency scaling is visible"),
    ("smt", {}, "smt/active: No such file"),
    ("smt", {f"{CPU}/smt/active": "perhaps"}, "'perhaps', which is not a number"),
    ("smt", {f"{CPU}/smt/active": "1"}, "does not list the CPUs that share a core"),
    ("clock_source", {}, "current_clocksource: No such file"),
    ("virtualisation", {}, "cpuinfo: No such file"),
    ("virtualisation", {"proc/cpuinfo": "Features: asimd"}, "no flags"),
    ("temperature", {}, "no sensor is readable"),
    ("load", {}, "loadavg: No such file"),
    ("cpu_pressure", {}, "pressure/cpu: No such file"),
    ("cpu_pressure", {"proc/pressure/cpu": "full avg10=0 x"}, "has no line for some threads"),
    ("memory_pressure", {}, "pressure/memory: No such file"),
    ("memory", {}, "meminfo: No such file"),
    ("memory", {"proc/meminfo": "MemTotal: 1 kB"}, "not in a known form: b'MemFree:'"),
    ("cpu_quota", {}, "cgroup: No such file"),
    ("cpu_quota", V2, "no control group of this process is visible"),
    ("cpu_quota", V2 | {f"{GROUP}/cpu.max": "?"}, "not in a known form"),
    ("steal", {}, "stat: No such file"),
    ("steal", {"proc/stat": "cpu many"}, "not in a known form: could not convert"),
    ("affinity", {}, "online: No such file"),
    ("aslr", {}, "randomize_va_space: No such file"),
]


@pytest.mark.parametrize("name, files, reason", UNREADABLE)
def test_what_cannot_be_read_is_unknown_and_why(found, name, files, reason):
    one = found(name, files)
    assert one.level == "unknown" and reason in one.state and one.fix == ""


def test_every_probe_was_tried_in_every_state():
    # The library that the last one reads is faked in a module of its own.
    names = {probe.name for probe in PROBES} - {"gpu_clocks"}
    # Variables can always be read, and a hypervisor is nothing to warn of.
    assert {name for name, *_ in UNREADABLE} == names - {"threads"}
    assert {name for name, *_ in WARNINGS} == names - {"threads", "virtualisation"}
    assert {name for name, *_ in OK} == names


THREADS = [
    ({"OMP_NUM_THREADS": "4"}, "ok", "OMP_NUM_THREADS=4", ""),
    ({"OMP_NUM_THREADS": "4,2", "OMP_PROC_BIND": "true"}, "ok", "OMP_NUM_THREADS=4,2, OMP_", ""),
    ({"OMP_NUM_THREADS": "many"}, "ok", "OMP_NUM_THREADS=many", ""),
    ({"OMP_NUM_THREADS": None, "OMP_PROC_BIND": "99"}, "ok", "OMP_PROC_BIND=99", ""),
    (
        {"OMP_NUM_THREADS": "2", "FAKE_NTHREADS": "5"},
        "warn",
        "OMP_NUM_THREADS=2, FAKE_NTHREADS=5; room for 4",
        "export FAKE_NTHREADS=4",
    ),
    (
        {"OMP_NUM_THREADS": "8", "MKL_NUM_THREADS": "6"},
        "warn",
        "OMP_NUM_THREADS=8, MKL_NUM_THREADS=6",
        "export OMP_NUM_THREADS=4 MKL_NUM_THREADS=4",
    ),
]


@pytest.mark.parametrize("settings, level, state, fix", THREADS)
def test_more_threads_than_cores(found, settings, level, state, fix):
    one = found("threads", settings=settings)
    assert (one.level, one.fix) == (level, fix) and one.state.startswith(state)


def test_a_quota_counts_as_the_cores_that_threads_have(found):
    one = found("threads", V2 | QUOTA)
    assert (one.level, one.fix) == ("warn", "export OMP_NUM_THREADS=2")
    assert one.state == "4 threads each, room for 2"
    assert found("threads", settings={"OMP_NUM_THREADS": "2"}).level == "ok"
    assert found("threads", settings={"OMP_NUM_THREADS": "3"}).level == "warn"


def test_steal_since_a_measurement_began(found):
    files = {"proc/stat": "cpu 160 20 10 900 5 5 5 25 0 0"}
    one = found("steal", files, since=CpuTimes(busy=125 / TICKS, stolen=20 / TICKS))
    assert (one.state, one.level) == ("5.0% of the busy time during the jitter test", "warn")
    assert found("steal", files, since=CpuTimes(225 / TICKS, 25 / TICKS)).level == "ok"


@pytest.mark.parametrize("text, cpus", [("0-3,8", (0, 1, 2, 3, 8)), ("5", (5,)), ("", ())])
def test_cpus_as_the_kernel_lists_them(text, cpus):
    assert parse_cpus(text) == frozenset(cpus) and format_cpus(cpus) == text


def test_this_machine_has_the_variables_of_the_framework_beside_all_others(monkeypatch):
    monkeypatch.setenv("FAKE_THREADS", "3")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    settings = this_machine(("FAKE_THREADS",)).settings
    assert list(settings) == [*THREAD_SETTINGS, "FAKE_THREADS"]
    assert settings["FAKE_THREADS"] == "3" and settings["OMP_NUM_THREADS"] is None
