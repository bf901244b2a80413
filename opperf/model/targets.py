"""Targets: what cases call."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, NamedTuple, Union

from opperf.model.declaring import Struct, canonical, digest
from opperf.model.values import Argument, display_argument


class TargetKey(NamedTuple):
    """Identifies a target within and across run files."""

    framework: str
    namespace: str
    name: str
    overload: str = ""

    @property
    def path(self) -> str:
        return f"{self.namespace}.{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        name = f"{self.name}.{self.overload}" if self.overload else self.name
        return ":".join(part for part in (self.framework, self.namespace, name) if part)


DEFAULT_OVERLOAD = "default"
"""Name of an overload that the framework leaves without one."""


class OperatorTarget(Struct, frozen=True, tag="operator"):
    """A registered operator, by its canonical name."""

    framework: str
    name: str
    overload: str = ""
    namespace: str = ""
    """Set if several namespaces register the name."""

    @property
    def key(self) -> TargetKey:
        return TargetKey(self.framework, self.namespace, self.name, self.overload)

    @property
    def label(self) -> str:
        """Name in results, without an overload that is the default one."""
        return self.name if self.overload in ("", DEFAULT_OVERLOAD) else self.path

    @property
    def path(self) -> str:
        """The name with its overload, which selects no other operator."""
        return f"{self.name}.{self.overload}" if self.overload else self.name


class CallableTarget(Struct, frozen=True, tag="callable"):
    """A Python callable, by dotted path."""

    framework: str
    path: str

    @property
    def key(self) -> TargetKey:
        namespace, _, name = self.path.rpartition(".")
        return TargetKey(self.framework, namespace, name)

    @property
    def label(self) -> str:
        return self.key.name


class FileTarget(Struct, frozen=True, tag="file"):
    """A function in a user's file, `kernels.py:softmax`."""

    framework: str
    file: str
    """Path of the file. Only its name is part of the case's id."""
    function: str

    @property
    def key(self) -> TargetKey:
        return TargetKey(self.framework, PurePath(self.file).name, self.function)

    @property
    def label(self) -> str:
        return self.function


class ObjectTarget(Struct, frozen=True, tag="object"):
    """An object that is built before it is called, such as a layer."""

    framework: str
    path: str
    arguments: dict[str, Argument] = {}
    file: str = ""

    @property
    def key(self) -> TargetKey:
        # `package.module.Layer`, or `package.module:Layer`.
        end = max(map(self.path.rfind, ".:"))
        namespace, name = self.path[: max(end, 0)], self.path[end + 1 :]
        if self.file:
            namespace, name = PurePath(self.file).name, self.path
        return TargetKey(self.framework, namespace, name, digest(self.arguments)[:8])

    @property
    def label(self) -> str:
        """The constructor's name, with its arguments as a program writes them."""
        shown = {name: display_argument(value) for name, value in self.arguments.items()}
        words = [
            f"{value!r}" if name.isdecimal() else f"{name}={value!r}"
            for name, value in shown.items()
        ]
        return f"{self.key.name}({', '.join(words)})" if words else self.key.name


class SnippetTarget(Struct, frozen=True, tag="snippet"):
    """A piece of source that is run after its setup."""

    framework: str
    source: str
    setup: str = ""
    language: str = "python"
    name: str = ""
    global_setup: str = ""
    model: str = ""
    """Python that makes `model` for TorchScript to compile; empty without a program."""
    output: str = ""
    differentiated: bool = False

    @property
    def key(self) -> TargetKey:
        return TargetKey(self.framework, self.language, self.label, digest(self)[:8])

    @property
    def label(self) -> str:
        """Its name, or its first line if it has none."""
        return self.name or self.source.strip().partition("\n")[0]

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups that it is in: its own without the last labels."""
        words = self.label.split(LABEL_SEPARATOR)
        return tuple(LABEL_SEPARATOR.join(words[:end]) for end in range(1, len(words)))


LABEL_SEPARATOR = "/"
"""Between the labels of a snippet's name."""


class ChainTarget(Struct, frozen=True, tag="chain"):
    """Calls of operators in turn, each given what earlier ones returned, as one function."""

    framework: str
    source: str
    """Python that defines the function `chain` of the tensors that the calls are given."""
    name: str
    """The operators in their order."""
    chain: str
    """`Chain.id` of the recorded chain."""

    @property
    def key(self) -> TargetKey:
        return TargetKey(self.framework, "", self.name, digest(self)[:8])

    @property
    def label(self) -> str:
        return self.name


class TraceTarget(Struct, frozen=True, tag="trace"):
    """The calls of a recorded trace in their order: a replay."""

    framework: str
    file: str
    """Path of the trace. What is part of the case's id is the digest alone."""
    digest: str
    """Hash of the trace's content."""
    rank: int | None = None
    """Rank of the process whose calls they are, where the trace has those of several."""
    ranks: int = 1
    """Number of processes, each of which replays the calls of its rank."""
    steps: str = ""
    """The steps, by the numbers in their labels: `3`, or `3:5` for 3 and 4; empty for all calls."""
    subgraph: str = ""
    """Label that the calls are below; empty for all calls."""
    gaps: str = "none"
    """`recorded` for the pauses that the program had between the calls."""
    skip: dict[str, str] = {}
    """Patterns of operators whose calls are omitted, each with the reason."""
    delay_ms: float = 0.0
    """Pause before each iteration."""

    @property
    def key(self) -> TargetKey:
        return TargetKey(self.framework, "", self.label, digest(canonical_target(self))[:8])

    @property
    def label(self) -> str:
        """The file's name, with which of its calls they are."""
        parts = [
            PurePath(self.file).name.partition(".")[0],
            "" if self.rank is None or self.ranks > 1 else f"rank {self.rank}",
            f"{self.ranks} ranks" if self.ranks > 1 else "",
            self.steps and f"step {self.steps}",
            self.subgraph,
        ]
        return " ".join(filter(None, parts))


class ModelTarget(Struct, frozen=True, tag="model"):
    """A model with its example inputs: of a suite, or of a user's function or class."""

    framework: str
    name: str
    """In the suite; else the function or class, `package.module:make`, or `make` of a file."""
    suite: str = ""
    file: str = ""
    """Path of the file that has the function. Only its name is part of the case's id."""
    arguments: dict[str, Argument] = {}
    """Of the function or class."""
    size: str = "default"
    batch_size: int | None = None
    """None for the model's own."""
    folder: str = ""
    """Folder of the suite's files, no part of the case's id."""

    @property
    def key(self) -> TargetKey:
        namespace = self.suite or PurePath(self.file).name
        return TargetKey(self.framework, namespace, self.name, digest(canonical_target(self))[:8])

    @property
    def label(self) -> str:
        """The name, with what differs from the model's own."""
        size = "" if self.size == "default" else self.size
        batch = "" if self.batch_size is None else f"batch {self.batch_size}"
        shown = (f"{name}={display_argument(value)}" for name, value in self.arguments.items())
        return " ".join(filter(None, (self.name.rpartition(":")[2], *shown, size, batch)))


PROGRAM = "program"
"""In place of a framework's name for what runs in processes of its own."""


class ServerProgram(Struct, frozen=True):
    """A program that the processes of another one are clients of."""

    command: tuple[str, ...]
    """Words of its command line. `{server_host}` and `{server_port}` in them are its address."""
    port: int = 0
    """Where it listens; 0 for any that is free."""
    health: str = ""
    """Path that answers once it is ready, `/health`; empty if it is when it accepts connections."""


def with_address(word: str, host: str, port: int) -> str:
    """Returns a word of a command line with the address of a server."""
    return word.replace("{server_host}", host).replace("{server_port}", str(port))


class NodeWords(Struct, frozen=True):
    """Words and variables of a program whose placeholders a node has filled."""

    argv: tuple[str, ...] = ()
    server: tuple[str, ...] = ()
    """Words of the server's command line."""
    variables: dict[str, str] = {}
    """Environment variables beside the others."""


class ScriptTarget(Struct, frozen=True, tag="script"):
    """A program: a script that runs in one or several processes of its own."""

    name: str
    """Of the bench."""
    script: str
    """Path of the script. Only its name is part of the case's id."""
    argv: tuple[str, ...] = ()
    method: str = "njobs"
    processes: int = 1
    """Number of processes on each node."""
    nodes: int = 1
    stop: int = 60
    """Observations after the warm-up, at which the program is stopped."""
    skip: int = 0
    """Observations that are omitted before the warm-up is looked for."""
    interval_s: float = 1.0
    """Seconds between samples of the machine."""
    observe: tuple[str, ...] = ()
    """Parts that are observed without voir: `loader:module:NAME`, `optimizer`,
    `function:module:NAME`, `line:PATTERN`."""
    voirfile: str = ""
    """Paths of voir's instruments, separated as in `PATH`; empty without one."""
    point: dict[str, Any] = {}
    """Values of the suite's matrix, by key."""
    variables: dict[str, str] = {}
    """Environment variables with the folders of its data, no part of the case's id."""
    server: ServerProgram | None = None
    """The program that its processes are clients of; `{server_host}` and `{server_port}` in their
    arguments are its address."""
    at_nodes: dict[str, NodeWords] = {}
    """By the name of a node, what is other there, no part of the case's id."""
    framework: str = PROGRAM

    @property
    def key(self) -> TargetKey:
        return TargetKey(self.framework, "", self.name, digest(canonical_target(self))[:8])

    @property
    def label(self) -> str:
        """The bench's name."""
        return self.name


Target = Union[
    OperatorTarget,
    CallableTarget,
    FileTarget,
    ObjectTarget,
    SnippetTarget,
    ChainTarget,
    TraceTarget,
    ModelTarget,
    ScriptTarget,
]


SEQUENCES = (ScriptTarget, SnippetTarget, TraceTarget)
"""Targets that are no function: a program, statements, recorded calls."""


def canonical_target(target: Target) -> dict[str, Any]:
    """Returns a target's canonical form: without defaults, and with a file's name for its path, or
    its digest alone."""
    content: dict[str, Any] = canonical(target)
    if isinstance(target, (FileTarget, ObjectTarget, ModelTarget)) and target.file:
        content["file"] = PurePath(target.file).name
    if isinstance(target, TraceTarget):
        # Its digest says which trace it is, wherever that is.
        del content["file"]
    if isinstance(target, ModelTarget):
        content.pop("folder", None)
    if isinstance(target, ScriptTarget):
        content["script"] = PurePath(target.script).name
        content.pop("voirfile", None)
        content.pop("variables", None)
        content.pop("at_nodes", None)
    return content
