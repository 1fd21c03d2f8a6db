"""Problems about integers: remainders, divisors, primes, and counting."""

from __future__ import annotations

import math

from agentgym.envs.mathpython.problem import Problem
from agentgym.support.random_stream import Stream

PRIMES = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179)


def remainder(draw: Stream, level: int) -> Problem:
    """The remainder of a sum of ``level`` powers, with exponents that grow with the level."""
    modulus = draw.choice(PRIMES)
    powers = [(draw.between(3, 99), draw.between(10, 10 ** (level + 1))) for _ in range(level)]
    text = " + ".join(f"{base}^{exponent}" for base, exponent in powers)
    total = sum(pow(base, exponent, modulus) for base, exponent in powers) % modulus
    code = " + ".join(f"pow({base}, {exponent}, {modulus})" for base, exponent in powers)
    return Problem(
        f"What is the remainder when {text} is divided by {modulus}?",
        str(total),
        "remainder",
        2 * level,
        f"print(({code}) % {modulus})",
    )


def divisors(draw: Stream, level: int) -> Problem:
    """The number or sum of the divisors of a number, which grows with the level."""
    number = math.prod(draw.choice((2, 2, 2, 3, 3, 5, 7, 11)) for _ in range(2 + level))
    number *= draw.between(2, 10 ** min(level, 3))
    factors = [
        d for k in range(1, math.isqrt(number) + 1) if number % k == 0 for d in {k, number // k}
    ]
    question, answer, code = "How many positive divisors does {} have?", len(factors), "len(found)"
    if draw.percent(70):
        question, answer, code = (
            "What is the sum of the positive divisors of {}?",
            sum(factors),
            "sum(found)",
        )
    program = (
        f"n = {number}\n"
        "found = set()\n"
        "for k in range(1, int(n ** 0.5) + 2):\n"
        "    if n % k == 0:\n"
        "        found |= {k, n // k}\n"
        f"print({code})"
    )
    return Problem(question.format(number), str(answer), "divisors", 2 + level, program)


def primes(draw: Stream, level: int) -> Problem:
    """The sum of the primes in a range, which grows with the level."""
    low = draw.between(10, 10 ** (level + 1))
    high = low + draw.between(15, 30 * level)
    prime_numbers = [n for n in range(low, high + 1) if _prime(n)]
    program = (
        "def prime(n):\n"
        "    return n > 1 and all(n % k for k in range(2, int(n ** 0.5) + 1))\n"
        f"print(sum(n for n in range({low}, {high} + 1) if prime(n)))"
    )
    return Problem(
        f"What is the sum of the prime numbers from {low} to {high}?",
        str(sum(prime_numbers)),
        "primes",
        3 * level,
        program,
    )


def _prime(n: int) -> bool:
    return n > 1 and all(n % k for k in range(2, math.isqrt(n) + 1))


def congruence(draw: Stream, level: int) -> Problem:
    """The smallest number with ``level + 1`` given remainders."""
    moduli = draw.sample((7, 9, 11, 13, 16, 17, 19, 23, 25), level + 1)
    modulus = math.prod(moduli)
    number = draw.between(1, modulus)
    remainders = [(m, number % m) for m in moduli]
    conditions = " and ".join(f"{remainder} when divided by {m}" for m, remainder in remainders)
    test = " and ".join(f"n % {m} == {remainder}" for m, remainder in remainders)
    return Problem(
        f"What is the smallest positive integer that leaves a remainder of {conditions}?",
        str(number),
        "congruence",
        2 * (level + 1),
        f"n = 1\nwhile not ({test}):\n    n += 1\nprint(n)",
    )


def multiples(draw: Stream, level: int) -> Problem:
    """How many numbers up to a limit are divisible by one of ``level + 1``, but not by another."""
    some = draw.sample((2, 3, 4, 5, 6, 7, 8, 9, 11, 13), level + 2)
    limit = draw.between(100, 10 ** min(level + 2, 4))
    *factors, unwanted = some
    candidates = {n for k in factors for n in range(k, limit + 1, k)}
    count = len(candidates.difference(range(unwanted, limit + 1, unwanted)))
    listing = " or ".join(map(str, factors))
    test = " or ".join(f"n % {k} == 0" for k in factors)
    return Problem(
        f"How many integers from 1 to {limit} are divisible by {listing}, but not by {unwanted}?",
        str(count),
        "multiples",
        level + 2,
        f"print(sum(1 for n in range(1, {limit} + 1) if ({test}) and n % {unwanted} != 0))",
    )


def coins(draw: Stream, level: int) -> Problem:
    """The number of ways to pay a sum with ``level + 2`` kinds of coins."""
    kinds = sorted(draw.sample((1, 2, 3, 5, 7, 10, 15, 20, 25), level + 2))
    total = draw.between(30, 60 * (level + 1))
    ways = [1] + [0] * total
    for coin in kinds:
        for amount in range(coin, total + 1):
            ways[amount] += ways[amount - coin]
    program = (
        f"total, ways = {total}, [1] + [0] * {total}\n"
        f"for coin in {kinds}:\n"
        "    for amount in range(coin, total + 1):\n"
        "        ways[amount] += ways[amount - coin]\n"
        "print(ways[total])"
    )
    listing = f"{', '.join(map(str, kinds[:-1]))} and {kinds[-1]}"
    return Problem(
        f"In how many ways can {total} cents be paid with coins of {listing} cents?",
        str(ways[total]),
        "coins",
        level + 3,
        program,
    )
