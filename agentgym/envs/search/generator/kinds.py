"""The kinds of things in the encyclopaedia, with the sentences of their articles.

``kinds.yaml`` holds them. Prose is written from these sentences and read back with them
(:mod:`.templates` says what their slots are, :mod:`.relations` what the relations in them mean).
"""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.support.bundled_files import read_table


@dataclass(frozen=True, kw_only=True)
class ArticleKind:
    """A kind of thing, with the sentences of its articles.

    A group holds paraphrases of one sentence; each states the same relations. What an article says
    is one of each group. The first sentence names the thing, the others mostly do not.
    """

    name: str
    """Its name, which is also the noun for one of them."""
    share: int
    """How many of 1000 things are of this kind."""
    begins: tuple[int, int] | None = None
    """First and last year in which things of the kind begin; None: they have no year."""
    definite: bool = False
    """Whether running text puts ``the`` before its names."""
    sentences: tuple[tuple[str, ...], ...]
    """Groups of sentences that state relations; the first group opens the article."""
    former: tuple[str, ...] = ()
    """Sentences that tell, with a date, what was true once and is no longer, or never came true.
    Of what is asked for in the past tense nothing else may have been true: there is one answer."""
    mentions: tuple[tuple[str, ...], ...]
    """Groups of sentences that state nothing; most of them name other things."""


KINDS: dict[str, ArticleKind] = {
    kind.name: kind for kind in read_table(tuple[ArticleKind, ...], __file__)
}
"""The kinds of things, by name. An ``event`` is mostly noise: many names, little that is true."""
