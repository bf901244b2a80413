"""Confines this process: a disk that holds what a candidate needs and nothing else, no network, no
sight of other processes, limits of memory, files and processes. By Linux's namespaces, where the
machine allows them; what it does not allow is said."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import site
import sys
from collections.abc import Iterable
from pathlib import Path

import opperf
from opperf.model import Struct

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
"""Of linux/sched.h."""

SPACES = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET

MS_RDONLY, MS_NOSUID, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 32, 4096, 16384, 1 << 18
"""Of linux/mount.h."""

SYS_CAPSET, SYS_MOUNT_SETATTR = {"x86_64": (126, 442)}.get(os.uname().machine, (91, 442))
"""Numbers of system calls, which all but old architectures have in common."""

AT_RECURSIVE, MOUNT_ATTR_RDONLY = 0x8000, 1
PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 4, 24, 38
CAPABILITY_VERSION = 0x20080522
LAST_CAPABILITY = 63

USUAL_BYTES = 8 << 30
"""Addresses that a process with a framework has, where it cannot see how many."""

OWN_ID = 1000
"""The id of the user inside, who has no rights there."""

SHOWN = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/sys/devices/system"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/alternatives", "/etc/localtime"),
    *("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"),
)
"""Paths of the system that programs and compilers need."""

SCRATCH = "/tmp"

RESERVED_PROCESSES = 300
"""Of Linux: once so many have had a number, the numbers below are not given again."""


class Limits(Struct, frozen=True):
    """Limits on the processes of one candidate."""

    memory_bytes: int = 4 << 30
    """Memory that is allocated beyond that of the framework; of all processes together likewise."""
    disk_bytes: int = 256 << 20
    """Of its scratch folder, which is in memory."""
    processes: int = 128
    """Processes, and threads where the kernel counts them: a compiler starts one for each core."""
    start_s: float = 180.0
    """Of the import and of the first call, in which it may compile: a C++ extension of PyTorch
    takes a minute."""
    call_s: float = 10.0
    """Of any number of later calls that the reference does in a tenth of a second."""


NETWORK = "the network is not kept from it"
DISK = "files that the user may change are not kept from it"
PROCESSES = "processes of the user are not kept from it"


def part_from_others() -> tuple[str, ...]:
    """Gives this process's children namespaces of their own. Returns what was not allowed."""
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUSER | SPACES) == 0:
        try:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{OWN_ID} {user} 1")
            Path("/proc/self/gid_map").write_text(f"{OWN_ID} {group} 1")
        except OSError:
            # As of an administrator without the rights of one: it owns no file here, then.
            return (DISK,)
        return ()
    if libc.unshare(SPACES) == 0:
        return ()
    return NETWORK, DISK, PROCESSES


def close_off(root: str, folders: Iterable[str], limits: Limits) -> tuple[str, ...]:
    """Makes `root`, an empty folder, the disk of this process, with the system, this Python and
    `folders`, all read-only, and a scratch folder. To be called in namespaces of its own, by their
    first process. Returns what was not allowed."""
    try:
        _mount("none", "/", "", MS_REC | MS_PRIVATE)
        _mount("tmpfs", root, "tmpfs", MS_NOSUID, f"size={limits.disk_bytes},mode=755")
        for path in dict.fromkeys([*SHOWN, *python_folders(), *folders]):
            _show(path, root)
        for name in (SCRATCH, "/dev/shm", "/proc"):
            Path(root + name).mkdir(mode=0o777, parents=True, exist_ok=True)
        # Refused where this process itself sees only a part of it: so it is in containers.
        with contextlib.suppress(OSError):
            _mount("proc", f"{root}/proc", "proc", MS_NOSUID)
            with contextlib.suppress(OSError):
                # Namespaces have a limit of their own from Linux 6.14 on.
                most = str(RESERVED_PROCESSES + limits.processes)
                Path(f"{root}/proc/sys/kernel/pid_max").write_text(most)
            # An administrator's process may write to the kernel's settings there.
            _make_read_only(f"{root}/proc")
        os.chroot(root)
        os.chdir(SCRATCH)
    except OSError as error:
        return (f"{DISK}: {error.strerror}",)
    return ()


def python_folders() -> list[str]:
    """Returns the folders that this Python imports from, without those that have a user's home."""
    named = [sys.prefix, sys.base_prefix, *sys.path, *site.getsitepackages()]
    for finder in sys.meta_path:
        # Of `pip install -e`: no folder of the path has those packages.
        module = sys.modules.get(getattr(finder, "__module__", ""))
        named += getattr(module, "MAPPING", {}).values()
    own = str(Path(opperf.__file__).parent)
    found = [Path(name).resolve() for name in named]
    return [own, *(str(path) for path in found if path.is_dir() and not _has_home(path))]


def shown_of(file: str) -> str:
    """Returns the folder of a user's file; the file alone if that is, or has, the user's home."""
    path = Path(file).resolve()
    return str(path if _has_home(path.parent) else path.parent)


def _has_home(path: Path) -> bool:
    return Path.home().is_relative_to(path)


def _show(path: str, root: str) -> None:
    """Shows a file or folder of the disk in `root`, read-only."""
    source, place = Path(path), Path(root + path)
    place.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        if not place.is_symlink():
            place.symlink_to(source.readlink())
        return
    if source.is_dir():
        place.mkdir(exist_ok=True)
    elif not source.exists():
        return
    elif not place.exists():
        place.touch()
    try:
        _mount(path, str(place), "", MS_BIND | MS_REC)
        _make_read_only(str(place))
    except OSError:
        # A folder inside one that is shown is there already, and read-only.
        if not source.is_dir() or not any(place.iterdir()):
            raise


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    words = (source.encode(), target.encode(), kind.encode() or None)
    if ctypes.CDLL(None, use_errno=True).mount(*words, flags, data.encode() or None):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), target)


def _make_read_only(path: str) -> None:
    """Makes a bound folder read-only, with what is mounted inside where the kernel can."""
    attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_RDONLY, 0, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    words = (-100, path.encode(), AT_RECURSIVE, attributes, ctypes.c_size_t(32))
    if libc.syscall(SYS_MOUNT_SETATTR, *words):
        _mount("none", path, "", MS_REMOUNT | MS_BIND | MS_RDONLY)


def give_up_rights(limits: Limits) -> None:
    """Gives up all rights of this process, for good, and limits what it may use."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for capability in range(LAST_CAPABILITY + 1):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    libc.syscall(SYS_CAPSET, header, (ctypes.c_uint32 * 6)())
    # Its memory is read from outside, by the process that started it.
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        used = USUAL_BYTES
    memory = used + limits.memory_bytes
    for kind, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_FSIZE, limits.disk_bytes),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


def clean_variables(own: Iterable[str]) -> dict[str, str]:
    """Returns the environment of a candidate's process: that of this one without all that is not
    needed, and the framework's `own` variables."""
    kept = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CUDA_VISIBLE_DEVICES", *own)
    found = {name: os.environ[name] for name in kept if name in os.environ}
    return {
        **found,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
        "PYTHONPATH": str(Path(opperf.__file__).parent.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": SCRATCH,
        "USER": "candidate",
        "TMPDIR": SCRATCH,
        "XDG_CACHE_HOME": f"{SCRATCH}/cache",
        # Memory that was freed is used again, instead of being mapped and zeroed for each result.
        "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
        "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
        "MALLOC_TOP_PAD_": str(1 << 20),
    }
