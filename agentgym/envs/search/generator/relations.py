"""What is true of the things in the encyclopaedia: the one table of kinds and relations.

Prose is written from it (and read back), questions are worded from it, and whoever answers them by
reading needs nothing else. Every relation gives one value to each thing of its kind; the other way
round a person may have written up to :data:`MOST` books.

Wordings hold the place of a name, or of another wording, as ``{}``. They are worded so that each
belongs to one relation in one direction, whatever stands in its place: "the author of {}" is only
ever the author of a book. Names begin with a capital letter, and wordings do not.
"""

from __future__ import annotations

from dataclasses import dataclass

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


_TABLE = (
    # -- person -------------------------------------------------------------------------------
    Relation(name="occupation", subject="person", object=WORD),
    Relation(
        name="birthplace",
        subject="person",
        object="town",
        words="born",
        phrases=(
            "the birthplace of {}",
            "the place where {} was born",
            "the home town of {}",
            "the town in which {} was born",
        ),
        questions=("Where was {} born?", "In which town was {} born?"),
        predicate="was born in {}",
    ),
    Relation(
        name="birth_year",
        subject="person",
        object=YEAR,
        words="born",
        questions=("In which year was {} born?", "When was {} born?"),
        earlier=("Who was born earlier, {} or {}?", "Who was born first, {} or {}?"),
        later=("Who was born later, {} or {}?", "Who is the younger one, {} or {}?"),
    ),
    Relation(
        name="alma_mater",
        subject="person",
        object="school",
        words="studied attended student",
        phrases=(
            "the school of {}",
            "the school where {} studied",
            "the school that {} attended",
            "the institution that educated {}",
        ),
        questions=("Where did {} study?", "Which school did {} attend?"),
        predicate="studied at {}",
    ),
    Relation(
        name="mentor",
        subject="person",
        object="person",
        words="mentor teacher taught",
        phrases=(
            "the mentor of {}",
            "the teacher of {}",
            "the person who taught {}",
            "the person under whom {} studied",
        ),
        questions=("Who taught {}?", "Who was the mentor of {}?"),
        inverse_words="mentor teacher taught",
        inverse=("the only pupil of {}", "the person taught by {}"),
        inverse_questions=("Who was taught by {}?", "Who was the only pupil of {}?"),
        predicate="was taught by {}",
    ),
    Relation(
        name="employer",
        subject="person",
        object="company",
        words="worked employed post",
        phrases=(
            "the employer of {}",
            "the company that employed {}",
            "the company for which {} worked",
            "the company that gave work to {}",
        ),
        questions=("Which company employed {}?", "For which company did {} work?"),
        predicate="worked for {}",
    ),
    # -- town ---------------------------------------------------------------------------------
    Relation(
        name="town_region",
        subject="town",
        object="region",
        words="town region",
        phrases=("the region of {}", "the region in which {} lies", "the region around {}"),
        questions=("In which region does {} lie?", "Which region does {} belong to?"),
        predicate="lies in {}",
    ),
    Relation(
        name="town_founded",
        subject="town",
        object=YEAR,
        words="town founded",
        questions=("In which year was {} founded?", "When was {} founded?"),
        earlier=("Which town is older, {} or {}?", "Which was founded earlier, {} or {}?"),
        later=("Which town is younger, {} or {}?", "Which was founded later, {} or {}?"),
    ),
    Relation(
        name="mayor",
        subject="town",
        object="person",
        words="mayor council",
        phrases=(
            "the mayor of {}",
            "the person who leads the council of {}",
            "the head of the council of {}",
        ),
        questions=("Who is the mayor of {}?", "Who leads the council of {}?"),
        inverse_words="mayor council town",
        inverse=("the town whose mayor is {}", "the town that has {} as its mayor"),
        inverse_questions=("Which town has {} as its mayor?", "Of which town is {} the mayor?"),
    ),
    Relation(
        name="twin",
        subject="town",
        object="town",
        words="twinned twin town",
        phrases=("the twin town of {}", "the town twinned with {}", "the partner town of {}"),
        questions=("Which town is twinned with {}?", "What is the twin town of {}?"),
    ),
    # -- region -------------------------------------------------------------------------------
    Relation(
        name="capital",
        subject="region",
        object="town",
        words="region capital",
        phrases=("the capital of {}", "the chief town of {}", "the town from which {} is ruled"),
        questions=("What is the capital of {}?", "Which town is the capital of {}?"),
        inverse_words="capital of region",
        inverse=("the region whose capital is {}", "the region ruled from {}"),
        inverse_questions=("Which region has {} as its capital?", "Which region is ruled from {}?"),
    ),
    Relation(
        name="governor",
        subject="region",
        object="person",
        words="region governor",
        phrases=("the governor of {}", "the person who governs {}"),
        questions=("Who is the governor of {}?", "Who governs {}?"),
        inverse_words="governor of region",
        inverse=("the region governed by {}", "the region whose governor is {}"),
        inverse_questions=("Which region does {} govern?", "Of which region is {} the governor?"),
    ),
    # -- company ------------------------------------------------------------------------------
    Relation(name="product", subject="company", object=WORD),
    Relation(
        name="seat",
        subject="company",
        object="town",
        words="head office seat",
        phrases=(
            "the seat of {}",
            "the town where {} has its head office",
            "the town in which {} is based",
        ),
        questions=("Where does {} have its head office?", "In which town is {} based?"),
        predicate="has its head office in {}",
    ),
    Relation(
        name="founder",
        subject="company",
        object="person",
        words="founder established",
        phrases=("the founder of {}", "the person who established {}", "the person who set up {}"),
        questions=("Who founded {}?", "Who established {}?"),
        inverse_words="founded company established founder",
        inverse=("the company founded by {}", "the company that {} established"),
        inverse_questions=("Which company did {} found?", "Which company was set up by {}?"),
        predicate="was founded by {}",
    ),
    Relation(
        name="established",
        subject="company",
        object=YEAR,
        words="established founded",
        questions=("In which year was {} established?", "When was {} established?"),
        earlier=("Which company is older, {} or {}?", "Which was established earlier, {} or {}?"),
        later=("Which company is younger, {} or {}?", "Which was established later, {} or {}?"),
    ),
    # -- school -------------------------------------------------------------------------------
    Relation(
        name="school_town",
        subject="school",
        object="town",
        words="opened school lectures",
        phrases=(
            "the town that houses {}",
            "the town where {} holds its lectures",
            "the university town of {}",
        ),
        questions=("Which town houses {}?", "Where does {} hold its lectures?"),
    ),
    Relation(
        name="rector",
        subject="school",
        object="person",
        words="rector heads",
        phrases=("the rector of {}", "the person who heads {}", "the person at the head of {}"),
        questions=("Who is the rector of {}?", "Who heads {}?"),
        inverse_words="rector heads school",
        inverse=("the school whose rector is {}", "the school headed by {}"),
        inverse_questions=("Which school does {} head?", "Of which school is {} the rector?"),
    ),
    Relation(
        name="school_opened",
        subject="school",
        object=YEAR,
        words="opened school",
        questions=("In which year did {} open?", "When did {} open?"),
        earlier=("Which school is older, {} or {}?", "Which opened earlier, {} or {}?"),
        later=("Which school is younger, {} or {}?", "Which opened later, {} or {}?"),
    ),
    # -- book ---------------------------------------------------------------------------------
    Relation(name="genre", subject="book", object=WORD),
    Relation(
        name="author",
        subject="book",
        object="person",
        words="author wrote",
        phrases=("the author of {}", "the writer of {}", "the person who wrote {}"),
        questions=("Who wrote {}?", "Who is the author of {}?"),
        inverse_words="author first published written",
        inverse=("the book written by {}", "the only book by {}", "the book that {} wrote"),
        inverse_questions=("Which book did {} write?", "Of which book is {} the author?"),
        count=("How many books did {} write?", "How many books are by {}?"),
        predicate="was written by {}",
    ),
    Relation(
        name="publisher",
        subject="book",
        object="company",
        words="publisher issued published",
        phrases=(
            "the publisher of {}",
            "the company that published {}",
            "the company that issued {}",
        ),
        questions=("Which company published {}?", "Which company issued {}?"),
        predicate="was published by {}",
    ),
    Relation(
        name="setting",
        subject="book",
        object="town",
        words="set setting",
        phrases=(
            "the setting of {}",
            "the town in which {} is set",
            "the place where the story of {} is set",
        ),
        questions=("Where is {} set?", "In which town is {} set?"),
        predicate="is set in {}",
    ),
    Relation(
        name="publication_year",
        subject="book",
        object=YEAR,
        words="first published",
        questions=("In which year was {} first published?", "When was {} first published?"),
        earlier=("Which book is older, {} or {}?", "Which was published earlier, {} or {}?"),
        later=("Which book is newer, {} or {}?", "Which was published later, {} or {}?"),
    ),
    # -- ensemble -----------------------------------------------------------------------------
    Relation(
        name="home",
        subject="ensemble",
        object="town",
        words="formed",
        phrases=("the home of {}", "the town where {} was formed", "the town in which {} formed"),
        questions=("Where was {} formed?", "In which town was {} formed?"),
        predicate="was formed in {}",
    ),
    Relation(
        name="leader",
        subject="ensemble",
        object="person",
        words="leader led directs",
        phrases=("the leader of {}", "the person who directs {}", "the person who conducts {}"),
        questions=("Who is the leader of {}?", "Who directs {}?"),
        inverse_words="ensemble leader led",
        inverse=("the ensemble led by {}", "the ensemble whose leader is {}"),
        inverse_questions=("Which ensemble does {} lead?", "Which ensemble is directed by {}?"),
    ),
    Relation(
        name="formed",
        subject="ensemble",
        object=YEAR,
        words="formed",
        questions=("In which year was {} formed?", "When was {} formed?"),
        earlier=("Which ensemble is older, {} or {}?", "Which was formed earlier, {} or {}?"),
        later=("Which ensemble is younger, {} or {}?", "Which was formed later, {} or {}?"),
    ),
    # -- building -----------------------------------------------------------------------------
    Relation(
        name="site",
        subject="building",
        object="town",
        words="building stands completed",
        phrases=(
            "the location of {}",
            "the town where {} can be found",
            "the town in which {} stands",
        ),
        questions=("Where can {} be found?", "In which town does {} stand?"),
        predicate="stands in {}",
    ),
    Relation(
        name="architect",
        subject="building",
        object="person",
        words="architect designed",
        phrases=("the architect of {}", "the designer of {}", "the person who designed {}"),
        questions=("Who designed {}?", "Who was the architect of {}?"),
        inverse_words="building completed architect designed",
        inverse=("the building designed by {}", "the building whose architect was {}"),
        inverse_questions=(
            "Which building did {} design?",
            "Of which building was {} the architect?",
        ),
        count=("How many buildings did {} design?", "How many buildings were designed by {}?"),
        predicate="was designed by {}",
    ),
    Relation(
        name="completed",
        subject="building",
        object=YEAR,
        words="building completed",
        questions=("In which year was {} completed?", "When was {} completed?"),
        earlier=("Which building is older, {} or {}?", "Which was completed earlier, {} or {}?"),
        later=("Which building is newer, {} or {}?", "Which was completed later, {} or {}?"),
    ),
    # -- festival -----------------------------------------------------------------------------
    Relation(
        name="host",
        subject="festival",
        object="town",
        words="held festival",
        phrases=("the host of {}", "the town that hosts {}", "the town where {} is held"),
        questions=("Which town hosts {}?", "Where is {} held?"),
        predicate="is held in {}",
    ),
    Relation(
        name="sponsor",
        subject="festival",
        object="company",
        words="sponsor funds",
        phrases=("the sponsor of {}", "the company that funds {}", "the company that sponsors {}"),
        questions=("Which company sponsors {}?", "Which company funds {}?"),
        inverse_words="festival first held sponsor",
        inverse=("the festival sponsored by {}", "the festival that {} funds"),
        inverse_questions=("Which festival does {} sponsor?", "Which festival is funded by {}?"),
        count=("How many festivals does {} sponsor?", "How many festivals are funded by {}?"),
        predicate="is sponsored by {}",
    ),
    Relation(
        name="first_held",
        subject="festival",
        object=YEAR,
        words="first held festival",
        questions=("In which year was {} first held?", "When was {} first held?"),
        earlier=("Which festival is older, {} or {}?", "Which was first held earlier, {} or {}?"),
        later=("Which festival is younger, {} or {}?", "Which was first held later, {} or {}?"),
    ),
    # -- ship ---------------------------------------------------------------------------------
    Relation(
        name="builder",
        subject="ship",
        object="company",
        words="ship built",
        phrases=("the builder of {}", "the company that built {}", "the yard that built {}"),
        questions=("Which company built {}?", "Which yard built {}?"),
        predicate="was built by {}",
    ),
    Relation(
        name="captain",
        subject="ship",
        object="person",
        words="captain commanded",
        phrases=("the captain of {}", "the person who commanded {}", "the commander of {}"),
        questions=("Who was the captain of {}?", "Who commanded {}?"),
        inverse_words="ship built launched captain",
        inverse=("the ship commanded by {}", "the ship whose captain was {}"),
        inverse_questions=("Which ship did {} command?", "Of which ship was {} the captain?"),
        count=("How many ships did {} command?", "How many ships were commanded by {}?"),
        predicate="was commanded by {}",
    ),
    Relation(
        name="launched",
        subject="ship",
        object=YEAR,
        words="ship launched",
        questions=("In which year was {} launched?", "When was {} launched?"),
        earlier=("Which ship is older, {} or {}?", "Which was launched earlier, {} or {}?"),
        later=("Which ship is newer, {} or {}?", "Which was launched later, {} or {}?"),
    ),
    # -- newspaper ----------------------------------------------------------------------------
    Relation(
        name="newspaper_town",
        subject="newspaper",
        object="town",
        words="newspaper printed",
        phrases=("the town where {} is printed", "the town whose newspaper is {}"),
        questions=("Where is {} printed?", "In which town is {} printed?"),
        predicate="is printed in {}",
    ),
    Relation(
        name="editor",
        subject="newspaper",
        object="person",
        words="newspaper editor edited",
        phrases=("the editor of {}", "the person who edits {}"),
        questions=("Who edits {}?", "Who is the editor of {}?"),
        inverse_words="newspaper editor edited",
        inverse=("the newspaper edited by {}", "the newspaper whose editor is {}"),
        inverse_questions=("Which newspaper does {} edit?", "Which newspaper is edited by {}?"),
    ),
    Relation(
        name="owner",
        subject="newspaper",
        object="company",
        words="newspaper owner owned",
        phrases=("the owner of {}", "the company that owns {}"),
        questions=("Who is the owner of {}?", "Which company owns {}?"),
        inverse_words="newspaper printed owner",
        inverse=("the newspaper owned by {}", "the newspaper whose owner is {}"),
        inverse_questions=("Which newspaper does {} own?", "Which newspaper belongs to {}?"),
        count=("How many newspapers does {} own?", "How many newspapers belong to {}?"),
        predicate="is owned by {}",
    ),
    # -- river --------------------------------------------------------------------------------
    Relation(
        name="river_region",
        subject="river",
        object="region",
        words="river flows crosses region",
        phrases=("the region through which {} flows", "the region crossed by {}"),
        questions=("Through which region does {} flow?", "Which region does {} cross?"),
        predicate="flows through {}",
    ),
    Relation(
        name="mouth",
        subject="river",
        object="town",
        words="river mouth sea",
        phrases=("the town at the mouth of {}", "the town where {} reaches the sea"),
        questions=("Which town lies at the mouth of {}?", "Where does {} reach the sea?"),
        inverse_words="river mouth sea",
        inverse=("the river that reaches the sea at {}", "the river with its mouth at {}"),
        inverse_questions=("Which river reaches the sea at {}?", "Which river ends at {}?"),
        predicate="has its mouth at {}",
    ),
    # -- event --------------------------------------------------------------------------------
    Relation(
        name="venue",
        subject="event",
        object="town",
        words="took place",
        phrases=("the venue of {}", "the town where {} took place"),
        questions=("Where did {} take place?", "In which town did {} take place?"),
    ),
    Relation(
        name="event_year",
        subject="event",
        object=YEAR,
        words="took place",
        questions=("In which year did {} take place?", "When did {} take place?"),
    ),
)

RELATIONS: dict[str, Relation] = {relation.name: relation for relation in _TABLE}
"""The relations, by name."""
