"""Tables of the cost of a step, here and in other projects."""

from __future__ import annotations

from benchmarks.tables.formats import Table, about, result


def peers_table() -> Table:
    """Return one environment of each project, the fastest first."""
    figures = result("peers.json")["one_environment"]
    table = [["project", "steps/s", "µs per step", "import", "first episode", "memory of one more"]]
    for name, row in sorted(figures.items(), key=lambda item: -item[1]["steps_per_second"]):
        table.append(
            [
                " ".join(filter(None, (name, row["version"]))) + f" ({row['remark']})",
                about(row["steps_per_second"]),
                f"{row['microseconds_per_step']:.1f}",
                f"{row['import_seconds']:.2f} s",
                f"{row['first_episode_seconds']:.2f} s",
                f"{row['bytes_per_environment'] / 1e3:.1f} KB",
            ]
        )
    return table


def step_table() -> Table:
    """Return the parts of the toy's step."""
    figures = result("core_overhead.json")["step_microseconds"]
    return [
        ["a step of the toy", "us"],
        *([name.replace("gym.make", "`gym.make`"), f"{us:.2f}"] for name, us in figures.items()),
    ]


def vectors_table() -> Table:
    """Return many environments at once: steps per second by the number of members."""
    figures = result("peers.json")["many_environments"]
    counts = list(next(iter(figures.values())))
    table = [["environments at once", *counts]]
    return table + [
        [face, *(about(rates[count]) for count in counts)] for face, rates in figures.items()
    ]
