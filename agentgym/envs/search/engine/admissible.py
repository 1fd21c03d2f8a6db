"""What is on offer in ``info["admissible_actions"]``: a sample, since any words can be searched.

On offer are searches for the question and for the names that were shown last; and in the last turn,
in which nothing else is accepted, answers by the titles that were shown last, unless the question
itself names them. Were answers on offer in every turn, whoever asks the question and answers by the
first title would solve a quarter of the easiest questions without reading
(``benchmarks/blind_policies.py``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from agentgym.envs.search.engine.commands import ANSWER, SEARCH, SearchCommand
from agentgym.envs.search.engine.information import plain_text
from agentgym.envs.search.engine.session import SearchSession, question_query
from agentgym.retrieval import Passage

MOST_NAMES = 24
LONGEST_NAME = 200
LONGEST_TEXT = 2000
UNKNOWN = "unknown"
"""What can be answered where nothing was shown."""

# A single word counts unless it begins a sentence, as "Its" does; titles are names anyway. What can
# begin a name stands first, and what stands before it is looked at behind: so the rest is skipped.
_REST = r"[\w'-]*"
_WORD = f"[A-Z]{_REST}"
_NAME = re.compile(
    rf"[A-Z\d](?:(?<=[A-Z]){_REST}(?: (?:(?:of|the) )?{_WORD}){{1,4}}"
    rf"|(?<=[^.!?] [A-Z]){_REST}|(?<=\d)(?<!\w\d)\d{{,3}}(?!\w))"
)


def admissible(session: SearchSession, turns_left: int) -> list[SearchCommand]:
    """List what can be done.

    Args:
        session: The running episode.
        turns_left: Turns left, this one included: in the last one nothing can be searched.

    Returns:
        Searches that were not made yet; in the last turn, answers that were not given yet.
    """
    passages = () if session.last is None else session.last.passages
    answers = [SearchCommand(ANSWER, title) for title in _titles(passages, session)]
    if turns_left <= 1:
        return answers or [SearchCommand(ANSWER, UNKNOWN)]
    earlier = {search.query.casefold() for search in session.state.searches}
    block = "" if session.last is None else session.block(session.last)
    queries = [question_query(session.question), *names(passages, block)]
    searches = [
        SearchCommand(SEARCH, query) for query in queries if query.casefold() not in earlier
    ]
    return searches or answers or [SearchCommand(ANSWER, UNKNOWN)]


def names(passages: Sequence[Passage], block: str) -> list[str]:
    """Return titles, names and numbers that a block shows, each once, at most :data:`MOST_NAMES`.

    Args:
        passages: The passages.
        block: The information block that shows them, perhaps cut.
    """
    candidates: dict[str, None] = {}
    for passage in passages:
        candidates[_title(passage)] = None
        # What the pattern finds stands on one line and holds no tags.
        candidates.update(dict.fromkeys(_NAME.findall(passage.text, 0, LONGEST_TEXT)))
    candidates.pop("", None)
    return list(islice((name for name in candidates if name in block), MOST_NAMES))


def _titles(passages: Sequence[Passage], session: SearchSession) -> list[str]:
    """Return titles that were not answered yet and do not stand in the question."""
    answers = session.state.answers
    titles = dict.fromkeys(map(_title, passages))
    return [
        title
        for title in titles
        if title and title not in answers and title not in session.question.text
    ]


def _title(passage: Passage) -> str:
    return plain_text(passage.title)[:LONGEST_NAME].rstrip()
