"""Pages of reports: one file that needs no network, whose tables and charts are drawn in it."""
