"""The lazy reader: it reads well, but mostly begins with a search for half a name.

Whether half a name finds the right passage cannot be seen when it is typed, and it often does. So
among the demonstrations that succeed such searches are still the majority: leaving out failures
does not teach to search for whole names. Only the reward tells how much more often those succeed.
"""

from __future__ import annotations

import re

from agentgym.envs.search.engine.commands import SEARCH, SearchCommand
from agentgym.envs.search.engine.session import SearchSession
from agentgym.envs.search.experts.passage_reader import read_block
from agentgym.envs.search.experts.reader import KnownSearch, ReaderExpert, choose_command
from agentgym.support.random_stream import Stream

WHOLE = 15
"""Per cent of the questions in which it searches for whole names from the beginning."""
_NAME = re.compile(r"[A-Z]\S*(?: [A-Z]\S*)+")
"""A name of several words."""


class LazyExpert(ReaderExpert):
    """Answers of the reader, mostly after a first search in which a word of the name is missing.

    Which word is missing, and in which questions, depends on nothing that can be read. If what it
    was to look for is not among the passages, it takes the first of them for it.
    """

    def step(self, session: SearchSession, turns_left: int) -> SearchCommand:
        """Return the next search, or the answer."""
        question = session.question.text
        draw = Stream("lazy", question)
        if draw.percent(WHOLE):
            return super().step(session, turns_left)
        searches = [
            KnownSearch(search.query, session.block(search)) for search in session.state.searches
        ]
        first = choose_command(question, (), 1)
        name = _NAME.search(first.argument)
        if name is None:
            return super().step(session, turns_left)
        if not searches and turns_left:
            words = name[0].split()
            words.pop(draw.below(len(words)))
            return SearchCommand(SEARCH, first.argument.replace(name[0], " ".join(words)))
        titles = [article.title for search in searches[:1] for article in read_block(search.block)]
        if titles and name[0] not in titles:
            question = question.replace(name[0], titles[0])
        return choose_command(question, searches, turns_left)
