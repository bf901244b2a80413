"""Reports of many records: speed-ups over a baseline, and what fails."""
