"""Roman numerals, numbers in words and ordinals."""

from wordnumerals.errors import NumeralError
from wordnumerals.labels import count_noun, from_letters, outline, plural, to_letters
from wordnumerals.ordinals import ordinal, parse_ordinal, words_to_ordinal
from wordnumerals.roman import from_roman, is_roman, to_roman
from wordnumerals.words import from_words, to_words

__all__ = [
    "NumeralError",
    "count_noun",
    "from_letters",
    "from_roman",
    "from_words",
    "is_roman",
    "ordinal",
    "outline",
    "parse_ordinal",
    "plural",
    "to_letters",
    "to_roman",
    "to_words",
    "words_to_ordinal",
]
