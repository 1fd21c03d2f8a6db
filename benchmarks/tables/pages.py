"""Find and rewrite the generated tables of the pages.

A generated table follows a comment, which GitHub does not show::

    <!-- table: training webshop -->
    | ... |

The rows after the comment, up to the first other line, are replaced by the command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from agentgym.errors import ConfigurationError
from benchmarks.tables import (
    boxes,
    certificates,
    doors,
    early_ends,
    families,
    fork_credit,
    horizons,
    method_rates,
    origins,
    overview,
    peers,
    played_methods,
    pretrained,
    recipes,
    scripts,
    speed,
    tasks,
    training,
)
from benchmarks.tables.formats import Table, markdown
from benchmarks.tables.reports import REPORTS

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("agentgym", "benchmarks", "notebooks", "trainers")
SITE = (".site/*.md", ".site/how-to/*.md")
PAGES = tuple(
    sorted(
        path.as_posix()
        for pattern in ("*.md", *(f"{folder}/**/*.md" for folder in FOLDERS), *SITE)
        for path in (page.relative_to(ROOT) for page in ROOT.glob(pattern))
        if pattern in SITE or not any("." in folder for folder in path.parts[:-1])  # bundled data
    )
)
"""Every page of ours, by its path from the root of the checkout."""

TABLES: Mapping[str, Callable[[], Table]] = {
    "families": families.families_table,
    "gains": training.gains_table,
    "tried": training.tried_table,
    "pretrained": pretrained.pretrained_table,
    "pretrained gains": pretrained.pretrained_gains_table,
    "distillation": pretrained.distillation_table,
    "step cost": pretrained.step_cost_table,
    "pretrained methods": pretrained.pretrained_methods_table,
    "token exactness": pretrained.token_exactness_table,
    "lucky": training.lucky_table,
    **{
        f"training {name}": partial(training.training_table, name)
        for name, source in training.TRAININGS.items()
        if source.defaults
    },
    "horizons": horizons.horizon_table,
    "power of the horizons": horizons.power_table,
    "fork credit": fork_credit.noise_table,
    "fork credit in families": fork_credit.families_table,
    "played methods": played_methods.played_methods_table,
    "method rates": method_rates.rates_table,
    "critic control": method_rates.critics_table,
    "recipes": recipes.recipes_table,
    "speed": speed.speed_table,
    "peers": peers.peers_table,
    "peers at once": peers.vectors_table,
    "parts of a step": peers.step_table,
    "doors": doors.doors_table,
    "certificates": certificates.certificates_table,
    "survey": certificates.survey_table,
    "early ends": early_ends.early_ends_table,
    "episode needs": early_ends.episode_needs_table,
    "steps": speed.step_table,
    "overlap": speed.overlap_table,
    "batching": speed.batching_table,
    "long_tails": speed.long_tails_table,
    "long process": speed.long_process_table,
    "long training": speed.long_training_table,
    "search engines": speed.engines_table,
    "blind": tasks.blind_summary,
    "long task": tasks.long_task_table,
    "experts webshop": tasks.experts_of_webshop,
    "experts alfworld": tasks.experts_of_alfworld,
    "policies webshop": tasks.policies_of_webshop,
    "swe ladder": tasks.ladder_table,
    "swe searches": tasks.searches_table,
    "swe training": tasks.memorized_table,
    "swe grading": tasks.grading_table,
    "boxes": boxes.boxes_table,
    "forks": boxes.forks_table,
    **{f"origins {name}": partial(origins.origins_table, name) for name in REPORTS},
    "claims": overview.claims_table,
    "scripts": scripts.scripts_table,
}  # fmt: skip
"""Every table that a page can have, by the name in its comment."""

_TABLE = re.compile(r"(<!-- table: (.+?) -->\n)((?:\|.*\n)*)")


def rewrite_page(page: str) -> str:
    """Return a page with regenerated tables.

    Args:
        page: The text of the page.

    Raises:
        ConfigurationError: A comment names an unknown table.
    """
    return _TABLE.sub(_make, page)


def named(page: str) -> list[str]:
    """Return the names of the tables of a page."""
    return [match[2] for match in _TABLE.finditer(page)]


def _make(match: re.Match[str]) -> str:
    """Return the comment with its table."""
    comment, name, _ = match.groups()
    if name not in TABLES:
        raise ConfigurationError(
            f"expected a table to be one of {', '.join(TABLES)}, got {name!r} in {comment.strip()}"
        )
    return comment + markdown(TABLES[name]())
