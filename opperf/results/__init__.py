"""Where records go: run files, JSON, Markdown, CSV, and text for a terminal."""
