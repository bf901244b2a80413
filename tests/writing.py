"""Reports as a format writes them."""

from opperf.comparison.ab.telling import telling_of as of_session
from opperf.comparison.explaining.difference_report import report_of as report_of_functions
from opperf.comparison.files.telling import telling_of as of_files
from opperf.comparison.report import report_of
from opperf.reports.formats import DRAWN, REPORT, format_named
from opperf.reports.hotspots.ranking_report import report_of as report_of_ranking


def compared(comparison, name, width=None):
    """The report of a comparison of two files in a format."""
    return told(report_of(comparison, of_files(comparison)), name, width)


def judged(session, name="text", width=None):
    """The report of a session in a format."""
    return told(report_of(session, of_session(session)), name, width)


def explained(difference, title="", most=None, name="text", width=None):
    """The report of the functions that changed in a format."""
    report = report_of_functions(difference, title, most)
    return format_named(name, REPORT).write_report(report, width)


def ranked(found, most=None, name="text", width=None, **recorded):
    """The report of a ranking in a format; `recorded` is what it has of a recording."""
    report = report_of_ranking(found, most, **recorded)
    return format_named(name, DRAWN).write_report(report, width)


def told(report, name="text", width=None):
    """A report in a format."""
    return format_named(name, DRAWN).write_report(report, width)
