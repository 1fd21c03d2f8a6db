"""The phrases of an issue; a stream chooses one of each table (see :mod:`.statements`)."""

from __future__ import annotations

# reports in several styles
SECOND = (
    "There is a second problem in the same version; I do not know whether the two are related.",
    "While I was at it I came across something else:",
    "One more thing:",
    "And then there is this, which may have another cause:",
)
SINCE = (
    "This is {library} {now}. With {before} it was right.",
    "I see it since I updated from {before} to {now}; the code of mine is the same.",
    "It came with {now}: when I go back to {before}, it is gone.",
    "{library} {before} did this as it should, {now} does not.",
)
ENDS = ("This is what I get:", "It ends like this:", "Full output:", "The traceback:")
SILENT = (
    "Nothing is raised.",
    "It goes through without an error, and the mistake turns up much later.",
    "I was not told that anything is wrong with it.",
)
WRONG_SO = (
    "That cannot be right.",
    "That is not what the documentation made me expect.",
    "It worked before the last update.",
    "Is this on purpose?",
    "I do not see how that comes about.",
)
WORDY = (
    "{library} does not do what it should",
    "Trouble with {library}",
    "Something is off in {library}",
    "{library}: wrong since the last update",
)
# requests
UNWRITTEN = (
    "{request} is not implemented",
    "{library}: implement {request}",
    "{request} is missing",
    "Feature request: {request}",
)
WANTED = (
    "{request} has a signature and a description, but raises `NotImplementedError`. I need it.",
    "Calling {request} of {library} ends in `NotImplementedError`. Please write it.",
    "{request} is documented, but there is nothing behind it yet.",
)
CHANGES = (
    "{library}: an inconsistent interface",
    "A change of the interface of {library}",
    "Interface of {library}",
)
WISHED = (
    "I propose a small change of the interface: {request}. Everything in the library that uses it "
    "has to follow; the old form need not work any longer.",
    "{Request}. Please change it in all of {library}, without keeping the old form.",
    "Before the next release one thing should change: {request}, in all modules and in the "
    "documentation of the functions.",
)
RULES_FOLLOW = ("These should hold then:", "What I count on:", "To be precise:")
USES = ("I would use it like this:", "For example:", "This is how I call it:")
# requests for the next release
WISHES = (
    "Some things do not work in {library} {version}",
    "{library} {version}: fixes and small changes wanted",
    "Shortcomings of {library} {version}",
)
ASKED = (
    "{library} {version} should be changed as follows:",
    "I would like to see this in {library} (I use {version}):",
    "The next version of {library} should bring this:",
)
# titles
RAISES = (
    "{error} from {subject}",
    "{subject} raises {error}",
    "Unexpected {error} in {library}",
    "{error} where I expected none ({library})",
    "{library}: {subject} fails with {error}",
    "{error}, although it should work: {sentence}",
)
OTHER_ERROR = (
    "Wrong error from {subject}",
    "{subject} raises {error}, which I did not expect",
    "{library}: the error is not the one that is documented",
    "{error} instead of the usual error: {sentence}",
)
ACCEPTS = (
    "{subject} accepts what it should refuse",
    "No error from {subject} where there should be one",
    "{library}: bad input is not refused",
    "Missing error: {sentence}",
)
WRONG = (
    "Wrong result of {subject}",
    "{subject} gives a wrong result",
    "{library}: unexpected result of {subject}",
    "Wrong result with {library}",
    "Not true for me: {sentence}",
    "Broken: {sentence}",
)
NOT_AS_SAID = (
    "{library} does not behave as expected",
    "Unexpected behaviour of {subject}",
    "Not true for me: {sentence}",
    "Regression in {library}",
)
# beginnings of reports, and sentences about a rule
OPENINGS = (
    "I ran into this while using {library}:",
    "Steps to reproduce:",
    "The following shows the problem:",
    "With the current version of {library} I tried this:",
    "A small example:",
    "This used to work for me with {library}:",
)
RULES = (
    "What I rely on: {sentence}.",
    "As I understand it, this should hold: {sentence}.",
    "My understanding is: {sentence}.",
    "In other words, I count on this: {sentence}.",
    "For context, the rule that I expect here: {sentence}.",
)
SAID = (
    "I expect the following of {library}, but it does not hold: {sentence}.",
    "{library} should behave like this, and does not: {sentence}.",
    "This no longer holds in {library}: {sentence}.",
)
BARE = (
    "Something in {library} does not behave as it did before.",
    "A check of mine that uses {library} fails with the current version.",
    "After an update of {library} a check of mine fails.",
)
CHECKED = (
    "A check of mine says:",
    "What I see:",
    "My own check for it reports:",
)
# results
ERRORS = ("It fails:", "This raises:", "The last line of the traceback:", "I get an exception:")
CAME = ("I get", "The result is", "Actual result:", "What comes out:")
CAME_ERROR = ("I get", "The error is", "Actual error:", "What comes out:")
EXPECTED = ("I expected", "It should be", "Expected:", "What I would expect:")
# further symptoms
ALSO = (
    "I have seen more that may come from the same cause. These do not hold either:",
    "Possibly related, also not true at the moment:",
    "I would also expect the following, which does not hold:",
    "Other things that should be so, and are not:",
)
