"""The simulated customer: a program with requests, moods and several ways to say a thing.

A customer tells a request fact by fact. A question gets the facts that it asks for; any other
message gets the next fact. The customer believes the agent: a request that the agent calls done is
over, and so is a refused one after some insisting. After the last request the customer leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agentgym.envs.service.engine.message import Message
from agentgym.envs.service.engine.problem import Problem, Request
from agentgym.support.random_stream import Stream

MOODS = ("calm", "terse", "chatty")
"""Moods: terse customers tell one fact at a time, chatty ones talk of other things, too."""
INTENT, NUMBER, RECORD, VALUE, QUESTION = "intent", "number", "record", "value", "question"
"""The facts of a request."""
FULL = 4
"""Number of facts of a complete opening, in which the customer asks the question, too."""
HELLO = ("I need some help.", "Hello, is somebody there?", "I have a problem.")
ALSO = ("There is something else.", "And another thing.", "I am not through yet.")
TELL_NUMBER = (
    "My customer number is {number}.",
    "I am customer {number}.",
    "The number on my card is {number}.",
)
TELL_RECORD = (
    "It is the {record} {words}.",
    "I mean the {record} {words}.",
    "The {record} {words} is the one.",
)
YES = ("Yes, please.", "Yes, go ahead.", "Yes, that is right.")
NO = ("No, wait.", "No, I was wrong.", "Sorry, no.")
INSIST = (
    "But I need it, please.",
    "I have been a customer for years, so make an exception.",
    "A friend of mine got just that from you.",
    "Your colleague told me yesterday that it can be done.",
)
PROCEED = ("Thank you. And the rest, please.",)
NOTHING_ELSE = ("I have told you all.", "That is all I know.")
CHATTER = (
    "What weather we have!",
    "I hope that your day is better than mine.",
    "My sister says that you are good at this.",
    "I tried it myself, but the page was down.",
)
GOODBYE = ("Thank you, goodbye.", "That was all, goodbye.", "Goodbye.")
ASKING: Mapping[str, Sequence[str]] = {
    INTENT: ("help", "want", "wish", "problem"),
    NUMBER: ("customer", "account", "identify", "name", "who"),
    RECORD: ("which", "id"),
    QUESTION: ("know", "question"),
}
"""Words of a message that asks for a fact; the domain and the tool add theirs."""


class Talk(NamedTuple):
    """The state of a conversation."""

    request: int = 0
    """Position of the running request."""
    facts: tuple[str, ...] = ()
    """Facts of it that the customer has told."""
    insisted: int = 0
    """How often the customer has insisted on it."""
    corrected: bool = False
    """Whether the customer has corrected the mistaken value."""
    claimed: bool = False
    """Whether the agent has called it done."""
    replied: bool = False
    """Whether the agent has answered its question."""
    agreed: tuple[int, ...] = ()
    """Requests whose change the customer has said yes to."""
    correct: tuple[int, ...] = ()
    """Requests whose question the agent has answered correctly."""
    citations: tuple[tuple[int, int], ...] = ()
    """Requests whose last word was a refusal, and the rule that it cited last."""
    messages: int = 0
    """Number of messages of the agent."""
    gone: bool = False
    """Whether the customer has left."""


def is_asked(request: Request, facts: Sequence[str]) -> bool:
    """Return whether the question of a request is among some facts."""
    return (QUESTION if request.change else INTENT) in facts and bool(request.question)


def current_value(request: Request, talk: Talk) -> tuple[str, str]:
    """Return the value that the customer wants, right or mistaken, and how they tell it."""
    if request.mistaken and not talk.corrected:
        return request.mistaken, request.mistaken_words
    return request.value, request.value_words


class Customer:
    """The customer of a task; the state of the conversation is a `Talk`.

    Args:
        problem: The task.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def open(self) -> tuple[Talk, str]:
        """Return the state and the first message."""
        return self._introduce(Talk())

    def answer(self, talk: Talk, text: str) -> tuple[Talk, str]:
        """Return the next state, and the answer to a message of the agent."""
        message, talk = Message(text), talk._replace(messages=talk.messages + 1)
        request = self.problem.requests[talk.request]
        if self._wants_yes(message, request):
            return self._confirm(talk, request, message)
        if message.refuses:
            return self._take_refusal(talk, message)
        if message.claims or (message.numbers and is_asked(request, talk.facts)):
            return self._take_result(talk, request, message)
        return self._tell(talk, self._wanted(talk, request, message))

    def pending(self, talk: Talk) -> list[str]:
        """Return the facts of the running request that the customer has not told."""
        request = self.problem.requests[talk.request]
        facts = [INTENT, RECORD, *([VALUE] if request.change else []), NUMBER]
        return [fact for fact in facts if fact not in talk.facts]

    # -- what a message does --------------------------------------------------------------------

    def _wants_yes(self, message: Message, request: Request) -> bool:
        """Return whether a message asks for a yes: it has the id and a value."""
        values = (
            request.value, request.value_words, request.mistaken, request.mistaken_words
        )  # fmt: skip
        asks = message.asks or (message.mentions("confirm") and not message.refuses)
        complete = message.mentions(request.record) and any(map(message.mentions, values))
        return bool(request.change) and asks and complete

    def _confirm(self, talk: Talk, request: Request, message: Message) -> tuple[Talk, str]:
        is_confirmed = message.mentions(request.value) or message.mentions(request.value_words)
        if not is_confirmed:
            talk, text = self._tell(talk._replace(corrected=True), [VALUE])
            return talk, f"{self._say(NO, talk)} {text}"
        return talk._replace(agreed=(*talk.agreed, talk.request)), self._say(YES, talk)

    def _take_refusal(self, talk: Talk, message: Message) -> tuple[Talk, str]:
        earlier = dict(talk.citations)
        citation = message.rule or earlier.get(talk.request, 0)
        talk = talk._replace(citations=tuple((earlier | {talk.request: citation}).items()))
        if talk.insisted >= self.problem.patience:
            return self._move_on(talk)
        return talk._replace(insisted=talk.insisted + 1), self._say(INSIST, talk, several=True)

    def _take_result(self, talk: Talk, request: Request, message: Message) -> tuple[Talk, str]:
        if message.claims:
            citations = tuple(item for item in talk.citations if item[0] != talk.request)
            talk = talk._replace(claimed=True, citations=citations)
        if message.numbers and is_asked(request, talk.facts):
            is_answered = request.fact in message.numbers
            correct = (*talk.correct, talk.request) if is_answered else talk.correct
            talk = talk._replace(replied=True, correct=correct)
        if request.question and not talk.replied:
            return self._tell(talk, [QUESTION])
        if request.change and not talk.claimed:
            return talk, self._say(PROCEED, talk)
        return self._move_on(talk)

    def _move_on(self, talk: Talk) -> tuple[Talk, str]:
        """Begin the next request, or leave."""
        talk = Talk(
            talk.request + 1, (NUMBER,) * (NUMBER in talk.facts), agreed=talk.agreed,
            correct=talk.correct, citations=talk.citations, messages=talk.messages,
        )  # fmt: skip
        if talk.request == len(self.problem.requests):
            return talk._replace(gone=True), self._say(GOODBYE, talk)
        next_talk, text = self._introduce(talk)
        return next_talk, f"{self._say(ALSO, talk)} {text}"

    # -- what the customer tells ----------------------------------------------------------------

    def _introduce(self, talk: Talk) -> tuple[Talk, str]:
        """Begin a request with some of its facts."""
        count = self.problem.openings[talk.request]
        if not count:
            return talk, self._say(HELLO, talk)
        first, *later_requests = self.pending(talk)
        facts = [first, *self._stream(talk, "order").shuffled(later_requests)][:count]
        if count >= FULL and self.problem.requests[talk.request].question:
            facts.append(QUESTION)
        return self._tell(talk, facts)

    def _wanted(self, talk: Talk, request: Request, message: Message) -> list[str]:
        """Return the facts that a message asks for, else the next one."""
        words: dict[str, Sequence[str]] = dict(ASKING)
        words[RECORD] = (*words[RECORD], self.problem.domain.record)
        if request.change:
            change = self.problem.domain.change(request.change)
            words[VALUE] = (*change.words, "value")
        facts = [
            fact
            for fact in (*self.pending(talk), *talk.facts)
            if any(map(message.mentions, words.get(fact, ())))
        ]
        return facts[: 1 if self.problem.mood == "terse" else 2] or self.pending(talk)[:1]

    def _tell(self, talk: Talk, facts: Sequence[str]) -> tuple[Talk, str]:
        if not facts:
            return talk, self._say(NOTHING_ELSE, talk)
        sentences = [self._sentence(talk, fact) for fact in facts]
        if self.problem.mood == "chatty":
            sentences.insert(0, self._say(CHATTER, talk, several=True))
        return talk._replace(facts=tuple(dict.fromkeys((*talk.facts, *facts)))), " ".join(sentences)

    def _sentence(self, talk: Talk, fact: str) -> str:
        """Tell a fact of the running request."""
        problem, request = self.problem, self.problem.requests[talk.request]
        if fact == NUMBER:
            return self._say(TELL_NUMBER, talk).format(number=problem.customer)
        if fact == RECORD:
            words = {"record": problem.domain.record, "words": request.record_words}
            return self._say(TELL_RECORD, talk).format(**words)
        if fact == QUESTION or not request.change:
            return request.question
        change = problem.domain.change(request.change)
        if fact == INTENT:
            return self._say(change.intents, talk)
        return self._say(change.tells, talk).format(value=current_value(request, talk)[1])

    def _say(self, texts: Sequence[str], talk: Talk, several: bool = False) -> str:
        """Choose one of some texts; ``several``: of all, else of as many as the task allows."""
        usable = texts if several else texts[: self.problem.paraphrases]
        return self._stream(talk, texts[0]).choice(usable)

    def _stream(self, talk: Talk, purpose: str) -> Stream:
        return Stream("service customer", self.problem.key, talk.request, talk.messages, purpose)
