"""Tables of the families' tasks: success of experts and simple policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentgym.policies.blind import FITTED, RULES
from agentgym.registration import FAMILIES
from benchmarks.blind_policies import LEAKS
from benchmarks.tables.formats import Table, about, interval, result, share, spoken

SETTINGS = ("default", "training")
LEVELS = ("easy", "medium", "hard")


def _blind(family: str, settings: str, *policies: str) -> float:
    """Return the success of the best of some blind policies."""
    figures = result("blind_policies.json")[f"{family}, {settings}"]["policies"]
    return max(float(figures[policy]["success"]) for policy in policies)


def blind_families() -> list[str]:
    """Return the families in which blind policies were measured."""
    figures = result("blind_policies.json")
    return [entry.name for entry in FAMILIES if f"{entry.name}, default" in figures]


def blind_table(family: str) -> Table:
    """Return the success of every blind policy in a family."""
    rules = [rule for rule in RULES if rule != "random"]
    rows = [
        *((f"blind-{rule}", f"blind-{rule}", f"blind-{rule}-new") for rule in rules),
        ("random", "random", "blind-random-new"),
        *((policy, policy, "") for policy in FITTED),
    ]
    tasks = result("blind_policies.json")[f"{family}, default"]["n"]
    table = [[f"policy ({tasks} tasks)", "default", "`-new`", "training", "`-new`"]]
    for name, *policies in rows:
        cells = [share(_blind(family, s, p)) if p else "" for s in SETTINGS for p in policies]
        table.append([f"`{name}`", *cells])
    leaks = [
        cell for settings in SETTINGS for cell in (share(_blind(family, settings, *LEAKS)), "")
    ]
    return [*table, ["leaks, the best", *leaks]]


def blind_summary() -> Table:
    """Return the best blind policy of each family, and the best of three kinds."""
    kinds = {
        "best blind": (), "random": ("random",),
        "alphabet": ("blind-alphabet-first", "blind-alphabet-last"), "verbs": ("blind-verbs",),
    }  # fmt: skip
    table = [["settings", *kinds]]
    for family in blind_families():
        row = [f"{spoken(family)}: default, training"]
        for policies in kinds.values():
            row.append(", ".join(share(_best(family, s, policies)) for s in SETTINGS))
        table.append(row)
    return table


def _best(family: str, settings: str, policies: Sequence[str]) -> float:
    """Return the best of some policies with what each reaches typing nothing twice; of all."""
    figures = result("blind_policies.json")[f"{family}, {settings}"]["policies"]
    some = policies or [name for name in figures if name == "random" or name.startswith("blind-")]
    return _blind(family, settings, *some)


def experts_of_webshop() -> Table:
    """Return the results of WebShop's fallible experts."""
    experts = result("demonstrators.json")["webshop"]["experts"]
    table = [["expert", "success", "score", "turns"]]
    for names in (("careful", "thinking"), ("hurried",), ("hasty",), ("lazy",)):
        rows = [
            [share(expert["success"]), share(expert["score"]), f"{expert['turns']:.1f}"]
            for expert in map(experts.get, names)
        ]
        assert all(row == rows[0] for row in rows), names
        table.append([", ".join(f"`{name}`" for name in names), *rows[0]])
    return table


def experts_of_alfworld() -> Table:
    """Return the success of ALFWorld's experts within several horizons."""
    experts = result("demonstrators.json")["alfworld"]["experts"]
    names = {"oracle": "shortest", **{n: n for n in ("searching", "fixed-order", "hesitant")}}
    turns = list(experts["shortest"]["solved_within"])
    head = [f"within {limit}" for limit in turns]
    table = [["expert", "turns", f"solved {head[0]} turns", *head[1:]]]
    for name, key in names.items():
        expert = experts[key]
        solved = [share(expert["solved_within"][limit]) for limit in turns]
        table.append([f"`{name}`", f"{expert['planned_turns']:.1f}", *solved])
    return table


def policies_of_webshop() -> Table:
    """Return the success of fixed policies at each difficulty."""
    figures = result("webshop_policies.json")
    columns = {
        "oracle": "oracle", "first_hit_with_options": "first hit, requested options",
        "first_hit_without_options": "first hit, no options", "random": "random",
    }  # fmt: skip
    table = [["", *columns.values()]]
    for key, row in figures.items():
        if key == "measured":
            continue
        level, products, _ = key.split("-")
        more = f" ({int(products):,} products)" if products != "1000" else ""
        table.append([f"`{level}`{more}", *(share(row[policy]["success"]) for policy in columns)])
    return table


def ladder_table() -> Table:
    """Return the success of the ladder of SWE policies."""
    figures = result("swe_ladder.json")["default"]
    words = {
        "idle": "`idle` (submits at once)", "blind-mutation": "`blind-mutation`",
        "developer": "`developer`, who looks first and knows the repair", "oracle": "`oracle`",
    }  # fmt: skip
    table = [["policy", "solved", "95 % interval", *LEVELS]]
    for policy, name in words.items():
        row = figures[policy]
        of = [row, *(row["difficulty"][level] for level in LEVELS)]
        solved, *levels = [f"{counts['solved']} of {counts['n']}" for counts in of]
        table.append([name, solved, interval(row["success_ci95"]), *levels])
    return table


def searches_table() -> Table:
    """Return the success of searches in SWE, with and without the issue."""
    figures = result("swe_searches.json")
    sets = {
        "default": "as they are", "in-sight": "their tests in sight", "tokens": "of one token",
    }  # fmt: skip
    table = [["tasks", "policy", "solved", "95 % interval", *LEVELS]]
    for key, name in sets.items():
        for number, (policy, row) in enumerate(figures[key].items()):
            some = row.get("difficulty", {})
            levels = [
                f"{some[level]['solved']} of {some[level]['n']}" if level in some else ""
                for level in LEVELS
            ]
            solved = f"{row['solved']} of {row['n']}"
            start = [name if not number else "", f"`{policy}`", solved]
            table.append([*start, interval(row["success_ci95"]), *levels])
    return table


def memorized_table() -> Table:
    """Return the success of the tiny policy on eight memorized SWE tasks."""
    figures = result("swe_training.json")["policies"]
    table = [["policy", "sampled", "greedy"]]
    for policy in ("random", "warm-start", "trained"):
        rows = [figures.get(name) for name in (policy, f"{policy}-greedy")]
        table.append([policy, *(f"{row['solved']} of {row['n']}" if row else "" for row in rows)])
    return table


def _exploits(exploits: Mapping[str, int], where: str = "") -> list[str]:
    """Return the row of how many attempts of the known exploits earned reward."""
    label = f"attempts of {exploits['number']} exploits{where}"
    return [label, str(exploits["tried"]), f"{exploits['paid']} earn reward"]


def grading_table() -> Table:
    """Return the SWE grader's verdicts on exploits, faults and right repairs."""
    team, image = (result(f"swe_red_team{suffix}.json")["exploits"] for suffix in ("", "_image"))
    fixes = result("swe_right_fixes.json")
    table = [
        ["submissions", "number", "verdict"],
        _exploits(team),
        _exploits(image, ", on rows in an image made here"),
    ]
    samples = {
        "submissions": "17 libraries", "bundled": "all 36 libraries",
        "releases": "all 36 libraries and four later releases",
    }  # fmt: skip
    for file, libraries in samples.items():
        fuzz = result(f"swe_fuzzed_{file}.json")
        refused = fuzz["right beside an exploit, and refused"]
        table.append(
            [
                f"mutated solutions, faults, exploits and mixtures, of {libraries}",
                f"{fuzz['submissions']:,}",
                f"an independent judge agrees on {fuzz['agreement']}; {refused} are refused for an "
                "exploit that spoils tests or answers beside a right repair; "
                f"{fuzz['accepted though wrong']} accepted against the judge, "
                f"{fuzz['refused though right']} refused against it",
            ]
        )
    for key, words in (("rewritten", "in other words"), ("by_hand", "written by hand")):
        row = fixes[key]
        label = f"right repairs {words}, of {row['tasks']} tasks"
        table.append([label, str(row["fixes"]), f"{row['full']} solve the task"])
    return table


def long_task_table() -> Table:
    """Return what each way to keep a long task in a small window reached, and what it took."""
    heading = (
        "what a prompt holds", "success", "turns", "longest prompt", "rows", "tokens of rows",
        "ids that differ",
    )  # fmt: skip
    table = [list(heading)]
    for name, arm in result("long_task.json")["arms"].items():
        success = f"{share(arm['success']['mean'])} {interval(arm['success']['ci95'])}".rstrip()
        counts = [f"{arm[key]:.1f}" for key in ("turns", "rows")]
        table.append(
            [
                name, success, counts[0], f"{arm['longest_prompt']:,}", counts[1],
                about(arm["row_tokens"]), str(arm["ids_differing"]),
            ]
        )  # fmt: skip
    return table
