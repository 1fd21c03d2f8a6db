"""One world through every door: the same episodes, played through Gymnasium and a peer's interface.

Each file needs its peer's package, in an environment of its own where peers exclude each other, and
is skipped without it.
"""
