"""The table of how noisy gradients by fork credit are, where the gradient is known."""

from __future__ import annotations

from benchmarks.tables.formats import Table, result, share

FILE = "fork_variance.json"


def noise_table() -> Table:
    """Return for each estimator the turns that buy a gradient as large as its noise."""
    processes = result(FILE)["processes"]
    names = list(processes)
    table = [["turns for a gradient as large as its noise; rewards", *names, "turns of a group"]]
    table[0].append("least cosine to the exact gradient")
    for label in processes[names[0]]["estimators"]:
        found = [processes[name]["estimators"][label] for name in names]
        prices = [f"{each['turns_for_noise_of_one']:.0f}" for each in found]
        cosine = share(min(each["cosine"] for each in found))
        table.append([label, *prices, f"{found[0]['turns']:.0f}", cosine])
    return table
