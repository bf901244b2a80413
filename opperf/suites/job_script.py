"""Commands that run a bench alone, to be pasted into a shell, the script of a Slurm array job
that runs a suite in parts and joins their run files at the end, and the configuration of Ray's
cluster launcher."""

from __future__ import annotations

import math
import shlex
import socket
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from opperf.environments.building import find_environment
from opperf.environments.specification import EnvironmentSpec
from opperf.errors import UsageError
from opperf.extras import load_extra
from opperf.machine.gpus import VISIBLE_DEVICES
from opperf.model import DECLARED, NodeWords, Struct, with_address
from opperf.processes.commands import HOST
from opperf.reading import open_file
from opperf.suites.bench import SCRIPT, Bench, folder_of_script
from opperf.suites.system import System, SystemNode

MAX_DURATION_S = 600.0
"""Limit on the time of a bench that has none."""

START_S = 300.0
"""Time of a part beside its benches: Python on a cold network disk, and the plan."""


class Job(Struct, frozen=True):
    """An array job."""

    name: str
    command: tuple[str, ...]
    """That which runs the suite: `opperf suite run FILE.yaml`, with its selection."""
    parts: int
    folder: str
    """Of the run files of the parts, of that of all, and of what they print."""
    nodes: int = 1
    """Of each part."""
    gpus: int = 0
    """Of each node; 0 to ask for none."""
    minutes: int = 60
    options: tuple[str, ...] = ()
    """Further options of sbatch: `--account=x`."""
    setup: tuple[str, ...] = ()
    """Lines of shell before the suite: `module load cuda`."""

    @property
    def result(self) -> str:
        """The run file of all parts."""
        return f"{self.folder}/{self.name}.jsonl"


def minutes_of(benches: Iterable[Bench]) -> int:
    """Returns the minutes in which one part could run all benches: which part has which is by the
    ids of cases."""
    seconds = sum(bench.max_duration_s or MAX_DURATION_S for bench in benches)
    return math.ceil((seconds + START_S) / 60)


def nodes_of(benches: Iterable[Bench]) -> int:
    """Returns the most machines that a bench needs."""
    return max((bench.num_machines for bench in benches), default=1)


def needs_gpus(benches: Iterable[Bench]) -> bool:
    """Returns whether a bench has a process for each GPU."""
    return any(bench.plan.method == "per_gpu" for bench in benches)


PORT = 6379
"""Ray's own default, of the first node of a part with several."""

RESTARTS = "SLURM_RESTART_COUNT"
"""Variable of Slurm's in a job that was requeued."""


def job_script(job: Job) -> str:
    """Returns the script, for `sbatch`. The first part submits the job that joins all of them once
    they have ended, whether well or not."""
    name, folder = shlex.quote(job.name), shlex.quote(str(job.folder))
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {shlex.quote(option)}" for option in _options(job)),
        "",
        f"# The run file of all parts is then {job.result}. Submitted again, the script",
        "# finishes the parts that were cut short.",
        "set -eu",
        f': "${{SLURM_ARRAY_TASK_ID:?submit this script: sbatch {name}.sh}}"',
        *job.setup,
        "",
        f'if [ "$SLURM_ARRAY_TASK_ID" = 0 ] && [ -z "${{{RESTARTS}:-}}" ]; then',
        "  sbatch --parsable --nodes=1 --ntasks=1 --time=10 \\",
        '    --dependency="afterany:$SLURM_ARRAY_JOB_ID" \\',
        f"    --job-name={name}-merge --output={folder}/merge.out \\",
        *(f"    {shlex.quote(option)} \\" for option in job.options),
        f"    --wrap={shlex.quote(_merge(job))}",
        "fi",
        "",
        f'part={folder}/part-"$SLURM_ARRAY_TASK_ID"-of-{job.parts}.jsonl',
        'if [ -e "$part" ]; then resume=--resume; else resume=; fi',
        *_launch(job),
    ]
    return "\n".join(lines) + "\n"


def _options(job: Job) -> list[str]:
    return [
        f"--job-name={job.name}",
        f"--array=0-{job.parts - 1}",
        f"--nodes={job.nodes}",
        "--ntasks-per-node=1",
        # What else runs on a node would be measured too.
        "--exclusive",
        *([f"--gpus-per-node={job.gpus}"] if job.gpus else []),
        f"--time={job.minutes}",
        "--requeue",
        f"--output={job.folder}/part-%a.out",
        *job.options,
    ]


def _merge(job: Job) -> str:
    parts = f"{shlex.quote(str(job.folder))}/part-*-of-{job.parts}.jsonl"
    return f"opperf merge {parts} -o {shlex.quote(str(job.result))} --overwrite"


def _launch(job: Job) -> list[str]:
    words = shlex.join(job.command)
    parts = f'--total-partitions {job.parts} --partition-id "$SLURM_ARRAY_TASK_ID"'
    command = [f"  {words} \\", f'  {parts} -o "$part" $resume']
    if job.nodes == 1:
        return ["srun --overlap --nodes=1 --ntasks=1 \\", *command]
    # Ray's own command for schedulers: a cluster of the nodes, and the suite on the first.
    return [
        'first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
        f'export RAY_ADDRESS="$first:{PORT}"',
        f"srun --overlap --nodes={job.nodes} --ntasks={job.nodes} \\",
        f'  ray symmetric-run --address "$RAY_ADDRESS" --min-nodes {job.nodes} -- \\',
        *command[:1],
        f"  --executor ray {command[1].strip()}",
    ]


def submit(job: Job, script: Path) -> str:
    """Submits the script by submitit, and returns the id of the array job. Raises `UsageError`
    without submitit and without Slurm."""
    submitit = load_extra("submitit", "--submit", f"submit the script yourself: sbatch {script}")
    if submitit.SlurmExecutor.affinity() <= 0:
        raise UsageError(f"--submit: Slurm is not here; where it is: sbatch {script}")
    executor = submitit.SlurmExecutor(folder=f"{job.folder}/submitit")
    pairs = (option.removeprefix("--").partition("=") for option in job.options)
    # submitit writes True as an option without a value.
    given = {name: value if equals else True for name, equals, value in pairs}
    executor.update_parameters(
        job_name=job.name,
        nodes=job.nodes,
        ntasks_per_node=1,
        exclusive=True,
        time=job.minutes,
        array_parallelism=job.parts,
        additional_parameters=given,
        **({"gpus_per_node": job.gpus} if job.gpus else {}),
    )
    # Each takes its part from the variable that Slurm sets in an array's jobs.
    run = submitit.helpers.CommandFunction(["bash", str(script.resolve())])
    jobs = executor.map_array(lambda number: run(), range(job.parts))
    return str(jobs[0].job_id).partition("_")[0]


def words_of(bench: Bench) -> NodeWords:
    """Returns the words of a script's command lines, and the variables of its bench. One that has
    arguments of a server and no command of it starts that itself, as milabench's do: it has those
    of the server, `--`, and those of the client."""
    if bench.server is None and bench.server_argv:
        return NodeWords(
            (*bench.argv, *bench.server_argv, "--", *bench.client_argv), (), bench.env.variables
        )
    server = () if bench.server is None else (*bench.server.command, *bench.server_argv)
    return NodeWords((*bench.argv, *bench.client_argv), server, bench.env.variables)


USUAL_PORT = 8000
"""Of a server that may have any, so that the command can be pasted."""

OPTIONS = {
    **{name: declared.option for name, declared in DECLARED.items()},
    "framework": "--framework",
    "size": "--size",
    "max_configs": "--max-configs",
    "batch_size": "--batch-size",
}
"""Options of `opperf run` and `opperf experiment` for keys of `settings`."""


def commands_of(bench: Bench, system: System, environment: EnvironmentSpec) -> list[str]:
    """Returns what runs a bench in its environment: a process of a script, of several the first;
    for what is no script a command of opperf for each framework."""
    if bench.workload == "script":
        return list(_script(bench, system, environment))
    return list(_opperf(bench, environment))


def _script(bench: Bench, system: System, environment: EnvironmentSpec) -> Iterator[str]:
    path = Path(bench.content[0])
    script = path / SCRIPT if folder_of_script(bench) == path else path
    found = None if environment.is_own else find_environment(environment)
    python = "python" if found is None else str(found.python)
    variables = dict(bench.env.variables)
    if bench.plan.method == "per_gpu" and system.gpu_count:
        variables[VISIBLE_DEVICES] = "0"
    before = f"cd {shlex.quote(str(script.parent))} && {_assigned(variables)}"
    words = words_of(bench)
    if bench.server is None:
        yield f"{before}{shlex.join([python, script.name, *words.argv])}"
        return
    port = bench.server.port or USUAL_PORT
    for line in (words.server, (python, script.name, *words.argv)):
        yield before + shlex.join(with_address(word, HOST, port) for word in line)


def _assigned(variables: dict[str, str]) -> str:
    return "".join(f"{name}={shlex.quote(value)} " for name, value in variables.items())


def _opperf(bench: Bench, environment: EnvironmentSpec) -> Iterator[str]:
    is_model = bench.workload == "model"
    frameworks = bench.settings.get("framework") or ("",)
    settings = {key: ",".join(values) for key, values in bench.settings.items()}
    # `opperf experiment` takes several frameworks, `opperf run` one.
    for framework in (",".join(frameworks),) if is_model else frameworks:
        own = {**settings, "framework": framework}
        options = [
            word
            for key, value in own.items()
            if value
            for word in (OPTIONS.get(key) or f"--{key.replace('_', '-')}", value)
        ]
        if bench.max_duration_s is not None:
            options += ["--timeout", f"{bench.max_duration_s:g}"]
        if not environment.is_own:
            options += ["--with", environment.text]
        content = map(_near, bench.content)
        words = ["opperf", "experiment" if is_model else "run", *content, *options]
        yield _assigned(bench.env.variables) + shlex.join(words)


def _near(word: str) -> str:
    """Returns a path below this folder relative to it, and any other word as it is."""
    path = Path(word)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else word


SSH_PORT = 22

ANSWER_S = 3.0
"""Seconds within which a machine of one's own network answers."""

OTHERS = 0o077
"""Bits of a file's mode for all but its owner."""


class Cluster(NamedTuple):
    """A cluster to start."""

    config: dict[str, Any]
    """For `ray up`."""
    by_hand: tuple[str, ...]
    """Commands that start the nodes of another user than the main node's, which Ray's launcher does
    not log in as."""


def main_first(nodes: Sequence[SystemNode], file: Path) -> tuple[SystemNode, ...]:
    """Returns the nodes, of which the first is the main one: that which says so, or the first of
    the file. Raises `UsageError` for two, for two of one address, and without any address."""
    if not any(node.ip for node in nodes):
        raise UsageError(f"{file}: it has no nodes; list them with name, ip and user")
    addresses = [node.ip for node in nodes]
    for address in addresses:
        if addresses.count(address) > 1:
            raise UsageError(f"{file}: two nodes have the address {address}")
    mains = [node for node in nodes if node.main]
    if len(mains) > 1:
        both = " and ".join(node.name for node in mains)
        raise UsageError(f"{file}: {both} are both main; only one node can be")
    main = mains[0] if mains else nodes[0]
    return (main, *(node for node in nodes if node is not main))


def check_key(text: str, file: Path) -> None:
    """Raises `UsageError` for an SSH key that may not be read, or that others may read, which SSH
    refuses; none is none to check."""
    if not text:
        return
    path = Path(text).expanduser()
    try:
        with open_file(path):
            mode = path.stat().st_mode
    except OSError as error:
        raise UsageError(
            f"{file}: sshkey: {text} cannot be read ({error.strerror}); name a key that you may "
            "read"
        ) from error
    if mode & OTHERS:
        raise UsageError(
            f"{file}: sshkey: SSH refuses {text}, as others may read it: chmod 600 "
            f"{shlex.quote(text)}"
        )


def make_cluster(system: System, file: Path, setup: Sequence[str] = ()) -> Cluster:
    """Returns the configuration of a cluster of a system's nodes. `setup` are commands that each
    node runs before it starts; `file` is that of the system, for errors. Raises as `main_first` and
    `check_key`."""
    main, *others = main_first(system.nodes, file)
    check_key(system.sshkey, file)
    port = main.port or PORT
    workers = [node for node in others if node.user == main.user]
    key = {"ssh_private_key": system.sshkey} if system.sshkey else {}
    bootstrap = "--autoscaling-config=~/ray_bootstrap_config.yaml"
    config = {
        "cluster_name": "opperf",
        "provider": {
            "type": "local",
            "head_ip": main.ip,
            "worker_ips": [node.ip for node in workers],
        },
        "auth": {"ssh_user": main.user, **key},
        "min_workers": len(workers),
        "max_workers": len(workers),
        "setup_commands": list(setup),
        "head_start_ray_commands": ["ray stop", f"ray start --head --port={port} {bootstrap}"],
        "worker_start_ray_commands": ["ray stop", f"ray start --address=$RAY_HEAD_IP:{port}"],
    }
    identity = f"-i {shlex.quote(system.sshkey)} " if system.sshkey else ""
    started = " && ".join([*setup, f"ray start --address={main.ip}:{port}"])
    by_hand = (
        f"ssh {identity}{node.user}@{node.ip} {shlex.quote(started)}"
        for node in others
        if node.user != main.user
    )
    return Cluster(config, tuple(by_hand))


def find_unreachable(nodes: Sequence[SystemNode]) -> tuple[str, ...]:
    """Returns a line for each node that SSH cannot reach."""
    found = []
    for node in nodes:
        try:
            socket.create_connection((node.ip, SSH_PORT), ANSWER_S).close()
        except OSError as error:
            why = error.strerror or str(error) or type(error).__name__
            found.append(f"node {node.name}: {node.ip} does not answer at port {SSH_PORT} ({why})")
    return tuple(found)
