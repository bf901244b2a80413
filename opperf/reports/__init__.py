"""One model of reports, and a writer for each format."""
