"""Ranges with both ends."""


def inside(value, low, high):
    return low <= value <= high
