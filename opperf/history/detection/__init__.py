"""Change points of many series at one rate of false alarms: no files, no database, no processes."""
