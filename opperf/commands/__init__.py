"""The commands of the command line: their arguments, options and help. The code of a command is
imported when it runs, its options when it is named: `opperf --help` loads none of them."""

from __future__ import annotations

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("run:run", "Measure operators (the default command)."),
    "param": ("param:param", "Run a configuration with the options of PARAM's benchmarks."),
    "experiment": ("run:experiment", "Measure models under every combination of settings."),
    "suite": ("suite:suite", "Run suites of benchmarks; report and compare machines."),
    "history": ("history:history", "Keep results over months: what changed since when."),
    "serve": ("run_files:serve", "Serve a dashboard of a history."),
    "list": ("registry:list_operators", "List operators, or their categories."),
    "show": ("registry:show", "Show an operator, its cases and their scripts."),
    "coverage": ("registry:coverage", "Report how much of the registry is measured."),
    "runs": ("run_files:runs", "List, find and delete the runs that opperf keeps."),
    "merge": ("run_files:merge", "Join the run files of parts of a run."),
    "record": ("record:record", "Record the calls of operators that a program makes."),
    "report": ("run_files:report", "Rank the operators of run files: what to improve first."),
    "trace": ("record:trace", "Show what is in traces of a program, or write their calls."),
    "compare": ("compare:compare", "Compare two files of results."),
    "explain": (
        "record:explain",
        "Show which functions changed between two counts of instructions.",
    ),
    "nodes": ("run_files:nodes", "Compare the nodes of a cluster: which of them differs."),
    "ab": ("ab:ab", "Measure A and B in turn and report what changed."),
    "versus": ("versus:versus", "Measure operations in several implementations, side by side."),
    "bisect": ("bisect:bisect", "Find the commit that changed a time, in a git repository."),
    "analyze": ("run_files:analyze", "Tabulate the results of models, record by record."),
    "aggregate": ("run_files:aggregate", "Compare results of models over backends and time."),
    "plot": ("run_files:plot", "Draw run files: bars, or lines against a swept size."),
    "export": ("run_files:export", "Write a run file for another tool, or as Markdown."),
    "doctor": ("registry:doctor", "Report what makes timings noisy on this machine."),
    "frameworks": ("registry:frameworks", "List frameworks, their devices, dtypes and categories."),
}
"""Each command's function, as `module:name`, and its line in the help of all, in that order."""
