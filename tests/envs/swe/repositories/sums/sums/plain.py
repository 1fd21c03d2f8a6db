"""Plain arithmetic."""


def add(a, b):
    return a + b


def mul(a, b):
    return a * b


def sign(a):
    return (a > 0) - (a < 0)
