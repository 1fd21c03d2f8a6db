"""Tasks, each determined by its key alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

from agentgym.envs.service.domains import DOMAINS
from agentgym.envs.service.engine.customer import MOODS
from agentgym.envs.service.engine.domain import Cell, Change, Domain, Row
from agentgym.envs.service.engine.problem import PolicyRule, Problem, Request, Verdict
from agentgym.envs.service.generator.config import GENERATOR_VERSION, GeneratorConfig
from agentgym.support.random_stream import Stream

NAMES = (
    "Ada", "Bram", "Cleo", "Dario", "Edda", "Fenn", "Gita", "Hugo", "Ines", "Jory", "Kira", "Lars",
    "Mona", "Nico", "Olga", "Pavel", "Quinn", "Rosa", "Sven", "Tara", "Udo", "Vera", "Wim", "Yara",
)  # fmt: skip
SURNAMES = ("Abel", "Brook", "Cole", "Dunn", "Ekberg", "Frost", "Grau", "Holm", "Ivers", "Jansen")
TIERS = ("plain", "silver", "gold")
PAYMENTS = ("visa", "giro", "paypal", "cheque")
OTHERS = 2
"""Customers besides the one who calls."""
CATALOG_KINDS, CATALOG_ADJECTIVES = 3, 4
ROUNDS, TRIES = 20, 80
"""Draws of a change and a rule to break, and for each of a record and a value."""
VERDICTS: Mapping[str, Verdict] = {"forbidden": "refused", "transfer": "transferred"}
"""Kinds of requests that do not end with a change."""


def make_problem(
    config: GeneratorConfig, domains: Sequence[str], seed: int, split: str, number: int
) -> Problem:
    """Make a task.

    Args:
        config: Size and difficulty.
        domains: Names of the domains, which follow each other.
        seed: Seed of the set.
        split: The split.
        number: Number of the task in the split.
    """
    domain = DOMAINS[domains[number % len(domains)]]
    key = f"{config.name}/{domain.name}/{seed}/{split}/{number}"
    attempts = (Stream("service", GENERATOR_VERSION, key, attempt) for attempt in count())
    problems = (_draw_problem(config, domain, stream, key) for stream in attempts)
    return next(problem for problem in problems if problem is not None)


def _draw_problem(
    config: GeneratorConfig, domain: Domain, stream: Stream, key: str
) -> Problem | None:
    """Draw a task; None where the database has nothing that a request needs."""
    problem = _world(config, domain, stream, key)
    own_records = [
        record for record, row in problem.records.items() if row["customer"] == problem.customer
    ]
    kinds = [
        stream.choice([kind for kind in config.kinds if kind != "transfer"] or config.kinds)
        for _ in problem.openings[:-1]
    ]
    rows, requests = dict(problem.records), list[Request]()
    opened = stream.sample(own_records, len(problem.openings))
    for record, kind in zip(opened, [*kinds, stream.choice(config.kinds)], strict=True):
        drawn = _request(config, problem, stream, record, kind)
        if drawn is None:
            return None
        rows[record] = drawn[0]
        requests.append(drawn[1])
    return replace(problem, records=rows, requests=tuple(requests))


def _world(config: GeneratorConfig, domain: Domain, stream: Stream, key: str) -> Problem:
    """Draw customers, catalog, records and policy; the requests are still missing."""
    ids = [f"#{number}" for number in stream.sample(range(100, 1000), 40)]
    catalog = _catalog(domain, stream, ids)
    customers: dict[str, Row] = {}
    for name in stream.sample(NAMES, OTHERS + 1):
        payments = stream.sample(PAYMENTS, stream.between(2, 3))
        customers[ids.pop()] = {
            "name": f"{name} {stream.choice(SURNAMES)}",
            "tier": stream.choice(TIERS),
            "payments": ", ".join(payments),
        }
    caller, *other_customers = customers
    requests = stream.between(*config.requests)
    records: dict[str, Row] = {}
    for item in stream.sample(list(catalog), requests + stream.between(*config.records)):
        records[ids.pop()] = _record(domain, stream, caller, customers[caller], item)
    for customer in other_customers:
        item = stream.choice(list(catalog))
        records[ids.pop()] = _record(domain, stream, customer, customers[customer], item)
    return Problem(
        domain,
        caller,
        customers,
        {record: records[record] for record in stream.shuffled(list(records))},
        catalog,
        _policy(config, domain, stream),
        fee=stream.between(2, 9),
        requests=(),
        confirm=config.confirm,
        mood=MOODS[stream.below(config.moods)],
        patience=stream.between(*config.insists),
        openings=tuple(stream.between(*config.openings) for _ in range(requests)),
        paraphrases=config.paraphrases,
        key=key,
    )


def _catalog(domain: Domain, stream: Stream, ids: list[str]) -> dict[str, Row]:
    """Draw a catalog; takes its ids from the end of a list."""
    names = [
        (adjective, kind)
        for kind in stream.sample(domain.kinds, CATALOG_KINDS)
        for adjective in stream.sample(domain.adjectives, CATALOG_ADJECTIVES)
    ]
    return {
        ids.pop(): {
            "name": domain.item.format(adjective=adjective, kind=kind),
            "kind": kind,
            "price": stream.choice(domain.fields["price"]),
        }
        for adjective, kind in stream.shuffled(names)
    }


def _record(domain: Domain, stream: Stream, number: str, customer: Row, item: str) -> Row:
    """Draw a record of a customer."""
    payments = str(customer["payments"]).split(", ")
    cells: dict[str, Cell] = {"customer": number, "item": item, "payment": stream.choice(payments)}
    return {**cells, **{field: stream.choice(cells) for field, cells in domain.fields.items()}}


def _policy(config: GeneratorConfig, domain: Domain, stream: Stream) -> tuple[PolicyRule, ...]:
    """Draw the order and the limits of the rules of the tools that the requests need."""
    tools = {change.name for change in domain.changes[: config.tools]}
    rules = [
        rule
        for rule in domain.rules
        if rule.change in tools and ("transfer" in config.kinds or not rule.transfer)
    ]
    return tuple(
        PolicyRule(rule, stream.choice(rule.limits) if rule.limits else ())
        for rule in stream.shuffled(rules)
    )


def _request(
    config: GeneratorConfig, problem: Problem, stream: Stream, record: str, kind: str
) -> tuple[Row, Request] | None:
    """Draw a request of a kind, and the row of its record; None if none was found."""
    row = problem.records[record]
    name = problem.catalog[str(row["item"])]["name"]
    words = f"with the {name}" if stream.percent(config.described) else record
    if kind == "question":
        question, path = stream.choice(problem.domain.questions)
        fact = int(row[path.partition(".")[2]])
        return row, Request(record, words, question=question, fact=fact)
    tools = [
        change
        for change in problem.domain.changes[: config.tools]
        if change.amount is not None or kind != "amount"
    ]
    for _ in range(ROUNDS):
        change = stream.choice(tools)
        broken = _rule_to_break(problem, change, kind, stream)
        for _ in range(TRIES if broken is not None else 0):
            customer = problem.customers[problem.customer]
            drawn = _record(problem.domain, stream, problem.customer, customer, str(row["item"]))
            value = _value(problem, change, drawn, stream)
            if problem.broken(change, drawn, value) == broken:
                request = Request(record, words, change.name, value, _words(problem, value))
                return drawn, _complete(config, problem, stream, drawn, request, kind, broken)
    return None


def _rule_to_break(problem: Problem, change: Change, kind: str, stream: Stream) -> list[int] | None:
    """Choose the rule that a request breaks: a list of its number, or of none; None: none fits."""
    if kind not in VERDICTS:
        return []
    numbers = [
        number
        for number, (rule, _) in enumerate(problem.rules, 1)
        if rule.change == change.name and rule.transfer == (kind == "transfer")
    ]
    return [stream.choice(numbers)] if numbers else None


def _value(problem: Problem, change: Change, row: Row, stream: Stream) -> str:
    """Draw a value of a change that differs from the present one."""
    customer = problem.customers[problem.customer]
    values: Sequence[str] = {
        "catalog": tuple(problem.catalog),
        "payment": tuple(str(customer["payments"]).split(", ")),
    }.get(change.source, change.values)
    return stream.choice(
        [value for value in values if row.get(change.field) != change.stored(value)]
    )


def _words(problem: Problem, value: str) -> str:
    """Return how a customer tells a value."""
    return str(problem.catalog[value]["name"]) if value in problem.catalog else value


def _complete(
    config: GeneratorConfig,
    problem: Problem,
    stream: Stream,
    row: Row,
    request: Request,
    kind: str,
    broken: Sequence[int],
) -> Request:
    """Add the verdict, the question and the mistake of a request for a change."""
    if broken:
        return replace(request, verdict=VERDICTS[kind], rule=broken[0])
    change = problem.domain.change(request.change)
    if kind == "amount" and change.amount:
        fact = problem.case(change, row, request.value).number(change.amount)
        request = replace(request, question=change.amount.ask, fact=fact)
    if config.confirm and stream.percent(config.corrections):
        value = _value(problem, change, row, stream)
        if value != request.value and not problem.broken(change, row, value):
            request = replace(request, mistaken=value, mistaken_words=_words(problem, value))
    return request
