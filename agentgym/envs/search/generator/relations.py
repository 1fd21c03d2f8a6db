"""What is true of the things in the encyclopaedia: the one table of kinds and relations.

Prose is written from it (and read back), questions are worded from it, and whoever answers them by
reading needs nothing else. Every relation gives one value to each thing of its kind; the other way
round a person may have written up to :data:`MOST` books. ``relations.yaml`` holds the relations.

Wordings hold the place of a name, or of another wording, as ``{}``. They are worded so that each
belongs to one relation in one direction, whatever stands in its place: "the author of {}" is only
ever the author of a book. Names begin with a capital letter, and wordings do not.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.support.bundled_files import read_table

YEAR = "year"
WORD = "word"
"""What relations lead to besides things: a year, and a word or two of a closed list."""
MOST = 3
"""Most things that one thing has by a relation that can be counted: as many as a page shows."""


@dataclass(frozen=True, kw_only=True)
class Relation:
    """One relation: from a thing of the kind ``subject`` to one value.

    ``phrases`` and ``questions`` ask for the value of a thing, ``inverse`` and
    ``inverse_questions`` for the one thing that has a value.
    """

    name: str
    """Its name, unique in the table; a slot of templates."""
    subject: str
    """Kind of the things that have it."""
    object: str
    """Kind of its values, or :data:`YEAR`, or :data:`WORD`."""
    ages: tuple[int, int] | None = None
    """Least and greatest age of the value when the thing begins; None: any."""
    is_office: bool = False
    """Whether the value is a person who holds an office today."""
    words: str = ""
    """What to search for beside the name of the thing, when its value is wanted."""
    phrases: tuple[str, ...] = ()
    """Noun phrases for the value; the first has the form "the NOUN of {}" where there is one."""
    questions: tuple[str, ...] = ()
    """Questions for the value."""
    inverse_words: str = ""
    """What to search for beside the value's name, when the thing is wanted."""
    inverse: tuple[str, ...] = ()
    """Noun phrases for the only thing that has a value; none: it is not asked this way."""
    inverse_questions: tuple[str, ...] = ()
    """Questions for the only thing that has a value."""
    count: tuple[str, ...] = ()
    """Questions for the number of things that have a value, at most :data:`MOST`."""
    predicate: str = ""
    """What is said of a thing that has a value: "was born in {}"."""
    earlier: tuple[str, ...] = ()
    """Of years: questions that ask which of two things has the smaller one."""
    later: tuple[str, ...] = ()
    """Of years: questions that ask which of two things has the greater one."""

    @property
    def plain_phrase(self) -> str:
        """The sentence that states it in plain prose: "The NOUN of {subject} is {relation}."."""
        return f"T{self.phrases[0].format('{subject}')[1:]} is {{{self.name}}}."


RELATIONS: dict[str, Relation] = {
    relation.name: relation for relation in read_table(tuple[Relation, ...], __file__)
}
"""The relations, by name."""
