"""Lists, shows, draws, publishes and exports a history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec

from opperf.errors import UsageError, unknown
from opperf.extras import check_extras
from opperf.model.declaring import integer_from
from opperf.plurals import pluralize
from opperf.reports.formats import json_of
from opperf.requests.declaring import Option, Request, Say, argument, told
from opperf.requests.history.fields import NUMBER, Branch, ChosenSeries, Stored
from opperf.requests.operators import Store
from opperf.requests.outputs import Overwrite, ReportedRequest, file_option
from opperf.results.output import STDOUT, check_output, replace, write_report

if TYPE_CHECKING:
    from opperf.history.model import Project
    from opperf.history.store.opening import Store as Opened
    from opperf.reports.model import Report
    from opperf.results.plots.data import Plot


class HistoryListRequest(ReportedRequest, frozen=True, kw_only=True):
    """Lists series, runs, verdicts or projects of a history."""

    chosen: ChosenSeries = ChosenSeries()
    what: Annotated[
        Literal["series", "runs", "verdicts", "projects"],
        Option("What to list.", section="History"),
    ] = "series"
    of: Stored = Stored()
    branch: Branch = ""

    def run(self, say: Say) -> Report:
        self.check_outputs()
        with self.of.opened_store() as store:
            from opperf.history.reports.listing import projects_report
            from opperf.history.store.reading import find_project, read_projects

            if self.what == "projects":
                return projects_report(read_projects(store))
            project = find_project(store, self.of.project)
            lists = {"series": self._series, "runs": self._runs, "verdicts": self._verdicts}
            return lists[self.what](store, project)

    def _series(self, store: Opened, project: Project) -> Report:
        from opperf.history.reports.listing import series_report
        from opperf.history.store.events import read_events, read_evidence
        from opperf.history.store.reading import read_environments, read_series
        from opperf.history.timelines import read_history

        ids = {stored.id for stored in self.chosen.choose(read_series(store, project))}
        return series_report(
            read_history(store, project, ids, self.branch),
            project,
            read_environments(store),
            read_evidence(store, project),
            read_events(store, project, self.branch),
        )

    def _runs(self, store: Opened, project: Project) -> Report:
        from opperf.history.reports.listing import runs_report
        from opperf.history.store.reading import count_figures, read_runs

        runs = [run for run in read_runs(store, project) if self.branch in ("", run.branch)]
        return runs_report(runs, project, count_figures(store, [run.id for run in runs]))

    def _verdicts(self, store: Opened, project: Project) -> Report:
        from opperf.history.reports.listing import verdicts_report
        from opperf.history.store.reading import read_series, read_verdicts
        from opperf.history.verdicts import latest_first

        # Of an environment there may be verdicts and no series.
        chosen = msgspec.structs.replace(self.chosen, environment="")
        keys = {
            (stored.key.case, stored.key.metric)
            for stored in chosen.choose(read_series(store, project))
        }
        is_any = not (chosen.names or chosen.metrics)
        verdicts = [
            verdict
            for verdict in latest_first(read_verdicts(store, project))
            if (is_any or (verdict.id, verdict.metric) in keys)
            and verdict.environment.startswith(self.chosen.environment)
        ]
        return verdicts_report(verdicts, project)


class HistoryShowRequest(ReportedRequest, frozen=True, kw_only=True):
    """Shows series run by run, or the series of an event."""

    chosen: ChosenSeries = ChosenSeries()
    with_dirty: Annotated[
        bool,
        Option(
            "Also runs of trees with uncommitted changes.", section="History", spellings="--dirty"
        ),
    ] = False
    event: Annotated[
        int | None,
        Option(
            "Show the series of this event, its states, and the verdicts on it.",
            integer_from(1),
            metavar="EVENT",
            section="History",
        ),
    ] = None
    of: Stored = Stored()
    branch: Branch = ""

    def run(self, say: Say) -> Report:
        if self.event is not None and self.chosen.names:
            raise UsageError("--event shows the series of the event; name no other")
        if self.event is None and not self.chosen.names:
            raise UsageError("name an operator or a series, e.g. opperf history show '#12'")
        self.check_outputs()
        with self.of.opened() as (store, project):
            from opperf.history.reports.showing import show_report
            from opperf.history.store import reading
            from opperf.history.store.events import find_event, read_evidence, read_states
            from opperf.history.timelines import read_history

            chosen, branch = self.chosen, self.branch
            event, states = None, []
            if self.event is not None:
                found = find_event(store, project, self.event)
                if found.series is None:
                    raise UsageError(
                        f"event {self.event} is of a machine, and of no series; opperf history "
                        f"list --environment {found.environment} lists those"
                    )
                event, states = found, read_states(store, project)[found.id]
                chosen = msgspec.structs.replace(chosen, names=(f"{NUMBER}{found.series}",))
                branch = branch or found.branch
            series = reading.read_series(store, project)
            ids = {stored.id for stored in chosen.choose(series)}
            cases = {stored.key.case for stored in series if stored.id in ids}
            failed = ids | {
                stored.id for stored in series if stored.key.case in cases and not stored.key.metric
            }
            return show_report(
                read_history(store, project, ids, branch, self.with_dirty),
                project,
                reading.read_environments(store),
                [
                    found
                    for found in reading.read_failures(store, project)
                    if found.series in failed
                ],
                read_evidence(store, project),
                event,
                states,
            )


MOST_PANELS = 60
"""Most series of a chart: a page of them can still be looked through."""


class HistoryPlotRequest(Request, frozen=True, kw_only=True):
    """Draws series over the commits."""

    chosen: ChosenSeries = ChosenSeries()
    output_file: Annotated[
        Path | None,
        file_option(
            "Image or page to write: .png, .svg or .html.  [default: a chart in the terminal]"
        ),
    ] = None
    overwrite: Overwrite = False
    of: Stored = Stored()
    branch: Branch = ""

    def run(self, say: Say) -> Plot:
        """Returns the chart for a terminal, and writes the file if one is named."""
        from opperf.results.plots.drawing import check_image
        from opperf.results.plots.images import WRITERS

        suffix = check_image(self.output_file, (), self.overwrite)
        with self.of.opened() as (store, project):
            from opperf.history.plots import chart, panels_of, text_plot
            from opperf.history.store import reading
            from opperf.history.store.events import read_events
            from opperf.history.timelines import read_history

            series = self.chosen.choose(reading.read_series(store, project))
            history = read_history(store, project, {stored.id for stored in series}, self.branch)
            events = read_events(store, project, self.branch)
            labels = reading.machine_names(reading.read_environments(store))
        panels = len(panels_of(history))
        if not panels:
            of_branch = f" of {self.branch}" if self.branch else ""
            raise UsageError(f"these series have no figure{of_branch}")
        if panels > MOST_PANELS:
            raise UsageError(
                f"{pluralize(panels, 'panel')} are more than a page is for ({MOST_PANELS}); name "
                "operators, or --metric"
            )
        if self.output_file is not None:
            check_extras("a plot", "altair", "vl_convert")
            of_branch = f", {self.branch}" if self.branch else ""
            title = f"{project.name}{of_branch}: {pluralize(len(history.runs), 'run')}"
            replace(self.output_file, WRITERS[suffix](chart(history, events, labels, title)))
        return text_plot(history, labels)


class PublishRequest(Request, frozen=True, kw_only=True):
    """Writes the dashboard of a history as files."""

    folder: Annotated[Path, argument("FOLDER")]
    store: Store = ""
    projects: Annotated[
        tuple[str, ...],
        Option(
            "Only this project; repeat it for several.  [default: all]",
            metavar="NAME",
            section="History",
            spellings="--project",
        ),
    ] = ()

    def run(self, say: Say) -> list[Project]:
        with Stored(store=self.store).opened_store() as store:
            from opperf.history.store.reading import find_project, read_projects
            from opperf.serving.publishing import check_target, publish

            check_target(self.folder)
            chosen = [find_project(store, name) for name in dict.fromkeys(self.projects)]
            found = chosen or read_projects(store) or [find_project(store)]
            publish(store, found, self.folder)
        return found


class HistoryExportRequest(Request, frozen=True, kw_only=True):
    """Writes the runs of a branch in the form of another tool."""

    section: ClassVar[str] = "History"

    form: Annotated[
        str,
        Option(
            "asv, a folder; github-action-benchmark; pytorch, records of its dashboard; or of one "
            "run, the latest or that of --run: bencher, pytest-benchmark, operator-benchmark, "
            "hyperfine, perfetto.",
            metavar="FORM",
            spellings="--to",
        ),
    ]
    output_file: Annotated[
        Path,
        Option(
            "Write to this file, or this new folder; - prints.",
            metavar="PATH",
            section="Output",
            spellings="-o --output-file",
        ),
    ] = STDOUT
    overwrite: Overwrite = False
    of: Stored = Stored()
    branch: Annotated[str, Option("Only this branch.  [default: the only one]", metavar="NAME")] = (
        ""
    )
    environment: Annotated[str, Option("Only figures of this environment.", metavar="KEY")] = ""
    run_id: Annotated[str, Option("Only this run.", metavar="ID", spellings="--run")] = ""

    def run(self, say: Say) -> Path | None:
        """Writes the file, and returns the folder if it is one."""
        from opperf.formats.forms import FORMS, WRITTEN
        from opperf.reports.writing import write_folder

        form = FORMS.get(self.form)
        if form is None or form.write is None:
            raise unknown("form", self.form, WRITTEN)
        if not form.is_folder:
            check_output(self.output_file, self.overwrite)
        elif self.output_file == STDOUT or self.overwrite:
            raise UsageError(f"--to {self.form} writes a new folder; name one with -o")
        with self.of.opened() as (store, project):
            from opperf.history.exporting import collect

            exported = collect(store, project, self.branch, self.environment, self.run_id)
        content = told(form.write(exported), say)
        if form.is_folder:
            write_folder(self.output_file, content)
            return self.output_file
        text = content if isinstance(content, str) else json_of(content)
        write_report(self.output_file, text)
        return None
