"""The kinds of things in the encyclopaedia, with the sentences of their articles.

Prose is written from these sentences and read back with them (:mod:`.templates` says what their
slots are, :mod:`.relations` what the relations in them mean).
"""

from __future__ import annotations

from dataclasses import dataclass


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
    kind.name: kind
    for kind in (
        ArticleKind(
            name="person",
            share=500,
            sentences=(
                (
                    "{subject} (born {birth_year}) was {a occupation} from {birthplace}.",
                    "{subject}, {a occupation}, was born in {birthplace} in {birth_year}.",
                    "Born in {birthplace} in {birth_year}, {subject} became known as "
                    "{a occupation}.",
                    "{subject} was {a occupation} who was born in {birth_year} in {birthplace}.",
                ),
                (
                    "{They} studied at {alma_mater}, where {mentor} was {their} mentor.",
                    "As a student at {alma_mater} {they} was taught by {mentor}.",
                    "{They} attended {alma_mater}, and {mentor} was {their} teacher there.",
                    "It was at {alma_mater} that {mentor} became {their} mentor.",
                ),
                (
                    "After {their} studies {they} worked for {employer} for {some few} years.",
                    "For {some few} years {they} was employed by {employer}.",
                    "{employer} employed {them} for most of {their} career, some {some few} years.",
                    "{They} later took a post with {employer} and kept it for {some few} years.",
                ),
            ),
            former=(
                "In {some year} {they} turned down a post at {former employer}.",
                "{They} declined a place at {former alma_mater} in {some year}.",
                "A source of {some year}, since corrected, names {former birthplace} as {their} "
                "place of birth.",
                "Until {some year} {former mentor} was wrongly taken for {their} mentor.",
            ),
            mentions=(
                (
                    "Away from work {they} took up {some hobby} and wrote letters to "
                    "{some person}.",
                    "A keen follower of {some hobby}, {they} often met {some person} in "
                    "{some town}.",
                    "{They} shared a love of {some hobby} with {some person}, a lifelong friend.",
                    "Friends such as {some person} remembered {their} fondness for {some hobby}.",
                ),
                (
                    "{Their} papers are kept in {some town}.",
                    "A portrait of {them} by {some person} hangs in {some town}.",
                    "A street in {some town} bears {their} name.",
                    "In {some year} an exhibition in {some town} recalled {their} life.",
                ),
            ),
        ),
        ArticleKind(
            name="town",
            share=100,
            sentences=(
                (
                    "{subject} is a town in {town_region}, founded in {town_founded}.",
                    "Founded in {town_founded}, {subject} is a town that lies in {town_region}.",
                    "{subject} is a market town in {town_region}; it was founded in "
                    "{town_founded}.",
                    "{subject}, a town of {town_region}, goes back to a charter of "
                    "{town_founded}, when it was founded.",
                ),
                (
                    "Its council is led by mayor {mayor}.",
                    "The mayor is {mayor}.",
                    "Since the last election {mayor} has been mayor and led the council.",
                    "{mayor} is its mayor.",
                ),
                (
                    "It is twinned with {twin}.",
                    "A partnership made {twin} its twin town.",
                    "Its twin town is {twin}.",
                    "{twin} and the town are twinned.",
                ),
            ),
            former=(
                "Until {some year} the mayor was {former mayor}.",
                "A partnership with {former twin} ended in {some year}.",
                "{former mayor} gave up the office of mayor in {some year}.",
                "Until {some year} the town belonged to {former town_region}.",
            ),
            mentions=(
                (
                    "Its people live by {some product} and {some product}.",
                    "The weekly market is known for {some product}.",
                    "A trade in {some product} made it prosper under {some person}.",
                    "Its people sell {some product} to {some town}.",
                ),
                (
                    "{some person} spent a summer here in {some year}.",
                    "A road built in {some year} joins it to {some town}.",
                    "About {some number} people live here.",
                    "A statue of {some person} stands before the town hall.",
                ),
            ),
        ),
        ArticleKind(
            name="region",
            share=5,
            sentences=(
                (
                    "{subject} is a region whose capital is {capital}.",
                    "The capital of {subject}, a region of hills and rivers, is {capital}.",
                    "{subject} is a region governed from its capital, {capital}.",
                    "{capital} is the capital of {subject}, a region by the sea.",
                ),
                (
                    "Its governor is {governor}.",
                    "{governor} serves as governor.",
                    "It is led by a governor, at present {governor}.",
                    "The office of governor is held by {governor}.",
                ),
            ),
            former=(
                "Until {some year} the capital was {former capital}.",
                "{former governor} was governor until {some year}.",
            ),
            mentions=(
                (
                    "It is known for {some product} and {some product}.",
                    "It sends {some product} as far as {some town}.",
                    "Its workshops supply {some company} with {some product}.",
                ),
                (
                    "{some person} crossed it on foot in {some year}.",
                    "Its oldest map was drawn by {some person} in {some year}.",
                    "The border with its neighbours was settled at {some town} in {some year}.",
                ),
            ),
        ),
        ArticleKind(
            name="company",
            share=90,
            sentences=(
                (
                    "{subject} is a maker of {product} with its head office in {seat}.",
                    "{subject}, a company with its seat in {seat}, makes {product}.",
                    "Known for {product}, {subject} has its head office in {seat}.",
                    "From its head office in {seat}, {subject} sells {product}.",
                ),
                (
                    "It was established in {established} by {founder}.",
                    "The company dates from {established}, when {founder} founded it.",
                    "{founder} founded the company in {established}.",
                    "Its founder was {founder}, who established it in {established}.",
                ),
            ),
            former=(
                "Until {some year} its head office was in {former seat}.",
                "{former founder}, who had claimed to be its founder, lost a lawsuit in "
                "{some year}.",
            ),
            mentions=(
                (
                    "At its height it had {some number} workers, and it exported to {some town} "
                    "and {some town}.",
                    "It sold most of its goods in {some town} and bought its tools from "
                    "{some company}.",
                    "A fire in {some year} destroyed the first workshop, which {some person} had "
                    "designed.",
                    "Its rival was {some company}, with which it shared a warehouse in "
                    "{some town}.",
                ),
                (
                    "The board once included {some person}.",
                    "{some person} kept its books for {some few} years.",
                    "A strike in {some year} was settled by {some person}.",
                    "Its archive was left to {some town} in {some year}.",
                ),
            ),
        ),
        ArticleKind(
            name="school",
            share=30,
            sentences=(
                (
                    "{subject} is a place of higher learning in {school_town}, opened in "
                    "{school_opened}.",
                    "{subject} opened in {school_opened} and holds its lectures in {school_town}.",
                    "Opened in {school_opened}, {subject} is a school in {school_town}.",
                    "The town of {school_town} has housed {subject} since it opened in "
                    "{school_opened}.",
                ),
                (
                    "Its rector is {rector}.",
                    "{rector} heads the school as rector.",
                    "The rector is {rector}, who heads a staff of {some number}.",
                    "At its head stands a rector, {rector}.",
                ),
            ),
            former=(
                "Until {some year} the rector was {former rector}.",
                "The lectures were held in {former school_town} until {some year}.",
            ),
            mentions=(
                (
                    "It teaches {some subject} and {some subject} to about {some number} students.",
                    "Its chair of {some subject} was paid for by {some company}.",
                    "It is best known for {some subject}, which {some person} taught there.",
                    "Students of {some subject} spend a year in {some town}.",
                ),
                (
                    "The library was a gift of {some person}.",
                    "A second campus near {some town} was given up in {some year}.",
                    "The motto above its gate was chosen by {some person} in {some year}.",
                    "Its first women students came from {some town} in {some year}.",
                ),
            ),
        ),
        ArticleKind(
            name="book",
            share=110,
            sentences=(
                (
                    "{subject} is {a genre} by {author}, first published in {publication_year}.",
                    "{author} is the author of {subject}, {a genre} first published in "
                    "{publication_year}.",
                    "First published in {publication_year}, {subject} is {a genre} written by "
                    "{author}.",
                    "{subject} is {a genre} that {author} wrote; it was first published in "
                    "{publication_year}.",
                ),
                (
                    "It was issued by {publisher}.",
                    "The publisher was {publisher}.",
                    "{publisher} published it.",
                    "Its publisher, {publisher}, issued it in two volumes.",
                ),
                (
                    "The story is set in {setting}.",
                    "Most of it is set in {setting}.",
                    "Its setting is {setting}.",
                    "It is set in {setting} over a single {some season}.",
                ),
            ),
            former=(
                "Until {some year} it was wrongly believed to be by {former author}.",
                "{former publisher} had turned it down in {some year}.",
                "A stage version of {some year} moved the story to {former setting}.",
            ),
            mentions=(
                (
                    "Critics praised its portrait of {some person}, then a young "
                    "{some occupation}.",
                    "Its hero, {a some occupation}, was modelled on {some person}.",
                    "The first printing sold out within {some few} weeks.",
                    "It is dedicated to {some person}, {a some occupation}.",
                ),
                (
                    "It was translated by {some person} in {some year}.",
                    "{some person} drew the pictures for a later printing.",
                    "The manuscript was found in {some town} in {some year}.",
                    "A reading by {some person} filled a hall in {some town}.",
                ),
            ),
        ),
        ArticleKind(
            name="ensemble",
            share=35,
            definite=True,
            sentences=(
                (
                    "{subject} was formed in {home} in {formed}.",
                    "Formed in {formed}, {subject} is at home in {home}, where it was formed.",
                    "{subject} is an ensemble formed in {home} in {formed}.",
                    "In {formed} {subject} was formed in {home}.",
                ),
                (
                    "{leader} is its leader.",
                    "It is led by {leader}.",
                    "{leader} directs the ensemble as its leader.",
                    "Its leader is {leader}.",
                ),
            ),
            former=(
                "Until {some year} it was led by {former leader}.",
                "It had its rooms in {former home} until {some year}.",
            ),
            mentions=(
                (
                    "It has toured {some town} and {some town}.",
                    "It gives about {some few} performances a year, many of them in {some town}.",
                    "A recording made in {some town} in {some year} won a prize.",
                    "{some company} paid for its instruments.",
                ),
                (
                    "A former member is {some person}.",
                    "{some person} wrote three works for it.",
                    "It played at the wedding of {some person} in {some year}.",
                    "Its rehearsals, open to all, were praised by {some person}.",
                ),
            ),
        ),
        ArticleKind(
            name="building",
            share=45,
            sentences=(
                (
                    "{subject} stands in {site}; the building was completed in {completed}.",
                    "{subject} is a building in {site}, completed in {completed}.",
                    "Completed in {completed}, {subject} is a building to be found in {site}.",
                    "In {site} stands {subject}, a building completed in {completed}.",
                ),
                (
                    "It was designed by {architect}.",
                    "The architect was {architect}.",
                    "{architect} designed it.",
                    "Its architect, {architect}, designed it in a single {some season}.",
                ),
            ),
            former=(
                "Plans that {former architect} had drawn were rejected in {some year}.",
                "An older building of this name, in {former site}, burned down in {some year}.",
            ),
            mentions=(
                (
                    "It is {some few} metres tall and built of {some stone}.",
                    "Its walls are of {some stone} from the quarries near {some town}.",
                    "The {some stone} of its front was given by {some company}.",
                    "Inside, a floor of {some stone} recalls {some person}.",
                ),
                (
                    "It was restored under {some person} in {some year}.",
                    "It appears on the arms of {some town}.",
                    "{some person} lived in it for {some few} years.",
                    "A copy of it was put up in {some town} in {some year}.",
                ),
            ),
        ),
        ArticleKind(
            name="festival",
            share=20,
            definite=True,
            sentences=(
                (
                    "{subject} is a festival held in {host}, and was first held in {first_held}.",
                    "First held in {first_held}, {subject} is a festival of {host}.",
                    "{host} hosts {subject}, a festival first held in {first_held}.",
                    "{subject} is a festival in {host}, first held in {first_held}.",
                ),
                (
                    "Its main sponsor is {sponsor}.",
                    "{sponsor} is its sponsor and funds most of the programme.",
                    "The programme is funded by its sponsor, {sponsor}.",
                    "It is sponsored by {sponsor}.",
                ),
            ),
            former=(
                "Until {some year} the sponsor was {former sponsor}.",
                "It was moved from {former host} after a flood in {some year}.",
            ),
            mentions=(
                (
                    "It draws about {some number} visitors each {some season}.",
                    "Each {some season} its guests buy {some product} from {some town}.",
                    "Every {some season} it awards a prize for {some hobby}.",
                ),
                (
                    "The opening speech of {some year} was given by {some person}.",
                    "{some person} painted its posters.",
                    "In {some year} it was called off after a quarrel with {some person}.",
                ),
            ),
        ),
        ArticleKind(
            name="ship",
            share=25,
            sentences=(
                (
                    "{subject} is a ship built by {builder} and launched in {launched}.",
                    "Launched in {launched}, {subject} is a ship built by {builder}.",
                    "{builder} built {subject}, a ship launched in {launched}.",
                    "{subject}, a ship launched in {launched}, was built by {builder}.",
                ),
                (
                    "Its captain was {captain}.",
                    "{captain} commanded it as captain.",
                    "It was commanded by captain {captain}.",
                    "For {some few} years {captain} was its captain.",
                ),
            ),
            former=(
                "{former captain}, named as its captain in {some year}, never went on board.",
                "A contract with {former builder} was cancelled in {some year}.",
            ),
            mentions=(
                (
                    "It carried {some product} along the coast.",
                    "It brought {some product} to {some town} every {some season}.",
                    "{some company} hired it to carry {some product}.",
                ),
                (
                    "In {some year} it ran aground near {some town} but was refloated.",
                    "{some person} sailed on it to {some town} in {some year}.",
                    "Its bell is kept in {some town}.",
                ),
            ),
        ),
        ArticleKind(
            name="newspaper",
            share=15,
            definite=True,
            sentences=(
                (
                    "{subject} is a newspaper printed in {newspaper_town}.",
                    "Printed in {newspaper_town}, {subject} is a newspaper for the whole county.",
                    "{subject} is a weekly newspaper that is printed in {newspaper_town}.",
                    "{subject}, a newspaper, is printed every morning in {newspaper_town}.",
                ),
                (
                    "It is owned by {owner} and edited by {editor}.",
                    "Its owner is {owner}, and its editor is {editor}.",
                    "{editor} edits it for its owner, {owner}.",
                    "The editor is {editor}; the owner is {owner}.",
                ),
            ),
            former=(
                "Until {some year} the editor was {former editor}.",
                "{former owner} sold it in {some year}.",
            ),
            mentions=(
                (
                    "It sells {some number} copies a day.",
                    "Its pages on {some subject} are written by {some person}.",
                    "Readers in {some town} receive it a day late.",
                ),
                (
                    "A series of {some year} about {some person} led to a lawsuit.",
                    "It was the first to report the fire at {some company} in {some year}.",
                    "{some person} drew its cartoons for {some few} years.",
                ),
            ),
        ),
        ArticleKind(
            name="river",
            share=10,
            sentences=(
                (
                    "{subject} is a river that flows through {river_region} and reaches the sea "
                    "at {mouth}.",
                    "{subject}, a river of {river_region}, has its mouth at {mouth}.",
                    "Flowing through {river_region}, {subject} is a river with its mouth at "
                    "{mouth}.",
                    "{mouth} lies at the mouth of {subject}, a river that crosses {river_region}.",
                ),
            ),
            former=("Before the works of {some year} its mouth was at {former mouth}.",),
            mentions=(
                (
                    "It is {some few} kilometres long and carries {some product} from {some town}.",
                    "Barges with {some product} use it as far as {some town}.",
                    "Workshops for {some product} stand along its banks near {some town}.",
                ),
                (
                    "{some person} measured its depth in {some year}.",
                    "A bridge near {some town} was paid for by {some company}.",
                    "A flood in {some year} reached the streets of {some town}.",
                ),
                (
                    "{some person} fished in it for {some few} years.",
                    "A ferry of {some company} crosses it every {some season}.",
                    "A poem by {some person} praises its {some season}.",
                ),
            ),
        ),
        ArticleKind(
            name="event",
            share=15,
            definite=True,
            sentences=(
                (
                    "{subject} took place in {venue} in {event_year}.",
                    "In {event_year} {subject} took place in {venue}.",
                    "{subject} of {event_year} took place in {venue}.",
                    "Held in {venue}, {subject} took place in {event_year}.",
                ),
            ),
            mentions=(
                (
                    "{some person} met {some person} there to talk about the future of "
                    "{some company}.",
                    "{some person} spoke against {some person}, who was then the mayor of "
                    "{some town}.",
                    "{some person}, not yet the founder of a company, argued with {some person}.",
                    "Its guests were {some person}, who had been born far from {some town}, and "
                    "{some person}.",
                ),
                (
                    "{some person} came from {some town} to ask whether {some person} was still "
                    "the editor of a newspaper.",
                    "A report blamed {some company}, whose head office was then thought to be in "
                    "{some town}.",
                    "{some company} showed {some product} that {some person} had designed.",
                    "{some person} and {some person} denied that they had studied in {some town}.",
                ),
                (
                    "A plaque recalls what {some person} said of {some town}.",
                    "Nobody remembered it better than {some person} of {some company}.",
                    "Letters about it passed between {some person} and {some person} until "
                    "{some year}.",
                    "{some person} wrote about it for a newspaper in {some town}.",
                ),
            ),
        ),
    )
}
"""The kinds of things, by name. An ``event`` is mostly noise: many names, little that is true."""
