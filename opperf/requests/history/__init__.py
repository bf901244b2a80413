"""Requests on a history, a store of results of many commits."""
