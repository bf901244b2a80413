"""Candidates: kernels that replace an implementation, judged in processes that they do not
control."""
