"""Values separated by tabs, as the format of another package."""

from opperf.reports.formats import Format


def line(cells):
    return "\t".join(" ".join(str(cell).split()) for cell in cells) + "\n"


def write_run(run, columns):
    rows = [(record.id, record.case.label, record.status.value) for record in run.records]
    return "".join(map(line, [("id", "operator", "status"), *rows]))


def write_report(report, width):
    """The tables of the report, each below its title."""
    written = []
    for section in report.sections:
        if section.table is not None:
            columns = section.table.columns
            written.append(line([section.title]))
            written.append(line(column.heading() for column in columns))
            written += map(line, zip(*(column.whole() for column in columns), strict=True))
    return "".join(written) or "\n"


TSV = Format("tsv", ".tsv", run=write_run, report=write_report)
