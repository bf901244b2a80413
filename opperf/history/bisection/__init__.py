"""Bisection of a repository's commits by measurements that scatter."""
