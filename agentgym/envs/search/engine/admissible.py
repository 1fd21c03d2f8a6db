"""What is on offer in ``info["admissible_actions"]``: a sample, since any words can be searched.

Whoever does not read has to draw from it: to search for the question, to search for a name that was
shown, or to answer with a name or number of the last results. The right answer need not be there.
Titles alone would be too few: two of three titles are what a comparison asks about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from agentgym.envs.search.engine.commands import ANSWER, SEARCH, Command
from agentgym.envs.search.engine.information import plain
from agentgym.envs.search.engine.session import Session, question_query
from agentgym.retrieval import Passage

MOST_NAMES = 40
LONGEST_NAME = 200
LONGEST_TEXT = 2000
UNKNOWN = "unknown"
"""What can be answered where nothing was shown."""

_NAME = re.compile(r"[A-Z][\w'-]*(?: (?:(?:of|the) )?[A-Z][\w'-]*){0,4}|\d{1,4}")


def admissible(session: Session, turns_left: int) -> list[Command]:
    """List what can be done.

    Args:
        session: The running episode.
        turns_left: Turns left, this one included: in the last one nothing can be searched.

    Returns:
        Searches that were not made yet, and answers that were not given yet.
    """
    shown = [] if session.last is None else names(session.last.passages)
    answers = [Command(ANSWER, name) for name in shown if name not in session.state.answers]
    if turns_left <= 1:
        return answers or [Command(ANSWER, UNKNOWN)]
    asked = {one.query.casefold() for one in session.state.searches}
    queries = [plain(question_query(session.question)), *shown]
    searches = [Command(SEARCH, query) for query in queries if query.casefold() not in asked]
    return [*searches, *answers] or [Command(ANSWER, UNKNOWN)]


def names(passages: Sequence[Passage]) -> list[str]:
    """Return titles, names and numbers of passages, each once, at most :data:`MOST_NAMES`."""
    found = (plain(name)[:LONGEST_NAME] for passage in passages for name in _names(passage))
    return list(islice(dict.fromkeys(name for name in found if name), MOST_NAMES))


def _names(passage: Passage) -> Iterator[str]:
    yield passage.title
    yield from (match[0] for match in _NAME.finditer(passage.text[:LONGEST_TEXT]))
