"""The dashboard of a history: pages and a JSON API, which only read."""
