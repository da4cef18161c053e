"""Limits of tests in Python."""

SECONDS_MAX = 3600  # a program that takes longer has hung; it may be slow, on a busy machine, for any time less
