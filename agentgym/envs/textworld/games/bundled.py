"""The games that come with the package, so that the first episode needs neither generator nor disk.

They are the first games of each split of three settings, exactly as
:func:`agentgym.envs.textworld.generator.splits.make_split_game` makes them; a test makes some of
them again. After the generator changed, ``python -m agentgym.envs.textworld.games.bundled`` makes
the files anew.

The file is a pack. Games of a setting are alike: they share the knowledge base, and their rules,
types and phrases differ little. A pack holds the knowledge base once, and each game as a record,
compressed for itself against a common dictionary: 0.8 KB for a game that is 20 KB of JSON.

Layout: the length of the head in 8 hexadecimal digits, the head, and the games end to end. The
head is zlib-compressed JSON: ``format``, ``settings``, ``made_with``, ``KB``, ``dictionary`` (text)
and ``splits``, the length in bytes of each game by split, in the order in which they follow.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import accumulate, chain

from agentgym.envs.textworld.generator.config import DEFAULT, GeneratorConfig
from agentgym.envs.textworld.generator.generate import Game, version
from agentgym.envs.textworld.generator.splits import make_split_game
from agentgym.envs.textworld.record import Record
from agentgym.errors import DataError

SIZES = {"train": 2000, "valid": 100, "test": 200}
"""Bundled games of each split of the default setting."""
BUNDLED: Mapping[str, Mapping[str, int]] = {
    DEFAULT: SIZES,
    "w2-o3-q4": SIZES,
    "cooking,cook=true": {**SIZES, "train": 1000},
}
"""Settings whose games are bundled, with their number: the default, the smallest of the
Practitioner's Guide, and one meal of one thing to cook, on which ``agentgym train`` trains."""
FORMAT = 2
_WINDOW = 32_000
"""Bytes that deflate can look back at."""
_HEAD = 8


def bundled(key: str) -> BundledPack | None:
    """Return the bundled games of a setting, or None where there are none.

    Raises:
        DataError: The file is missing or damaged.
    """
    return _open_pack(key) if key in BUNDLED else None


@lru_cache(maxsize=len(BUNDLED))
def _open_pack(key: str) -> BundledPack:
    try:
        return BundledPack((files(__package__) / "data" / f"{key}.games").read_bytes())
    except OSError as error:
        raise DataError(
            f"expected the bundled games of {key} in the package, but they cannot be read "
            f"({error}); check the project out again"
        ) from error


def build(sizes: Mapping[str, int] | None = None, key: str = DEFAULT) -> bytes:
    """Generate the file of bundled games; takes ten minutes.

    Raises:
        DependencyNotInstalled: The package ``textworld`` is missing.
    """
    config = GeneratorConfig.of(key)
    games = {
        split: [make_split_game(config, split, index) for index in range(size)]
        for split, size in (sizes or BUNDLED[key]).items()
    }
    return pack(key, version(), games)


def pack(settings: str, made_with: str, games: Mapping[str, Sequence[Game]]) -> bytes:
    """Return the file that holds games of one setting, by split, which share one knowledge base.

    Raises:
        DataError: There are no games, their knowledge bases differ, or a record does not give one
            back as it is.
    """
    all_games = list(chain.from_iterable(games.values()))
    if not all_games or any(game["KB"] != all_games[0]["KB"] for game in all_games):
        raise DataError(
            "expected one or more games with the same knowledge base; pack each setting by itself"
        )
    texts = {split: [_text(game) for game in entries] for split, entries in games.items()}
    # A few games hold most phrases of their setting.
    dictionary = b"".join(chain.from_iterable(texts.values()))[:_WINDOW]
    blobs = {
        split: [_squeeze(text, dictionary) for text in entries] for split, entries in texts.items()
    }
    description = {
        "format": FORMAT,
        "settings": settings,
        "made_with": made_with,
        "KB": all_games[0]["KB"],
        "dictionary": dictionary.decode(),
        "splits": {split: [len(blob) for blob in entries] for split, entries in blobs.items()},
    }
    head = zlib.compress(json.dumps(description).encode(), 9)
    return b"".join([b"%08x" % len(head), head, *chain.from_iterable(blobs.values())])


class BundledPack:
    """An opened pack.

    Raises:
        DataError: It is no pack, or damaged.
    """

    def __init__(self, data: bytes) -> None:
        try:
            start = _HEAD + int(data[:_HEAD], 16)
            head = json.loads(zlib.decompress(data[_HEAD:start]))
            if head["format"] != FORMAT:
                raise ValueError(f"its format is {head['format']!r}")
            self.settings: str = head["settings"]
            self.made_with: str = head["made_with"]
            self._knowledge: Game = head["KB"]
            self._dictionary = head["dictionary"].encode()
            lengths: dict[str, list[int]] = head["splits"]
        except (ValueError, KeyError, TypeError, zlib.error) as error:
            raise DataError(
                f"expected a pack of TextWorld games of format {FORMAT}, but it cannot be read "
                f"({error}); install the package again"
            ) from error
        self.sizes = {split: len(entries) for split, entries in lengths.items()}
        """Number of games of each split."""
        ends = list(accumulate(chain.from_iterable(lengths.values()), initial=start))
        self._first = dict(zip(lengths, accumulate(self.sizes.values(), initial=0), strict=False))
        self._ends = ends
        self._data = data

    def game(self, split: str, index: int) -> Game:
        """Read a game; the caller owns it, but for the shared knowledge base.

        Raises:
            DataError: The pack is damaged.
        """
        return self.record(split, index).json()

    def record(self, split: str, index: int) -> Record:
        """Read a game in brief.

        Raises:
            DataError: The pack is damaged.
        """
        row = self._first[split] + range(self.sizes[split])[index]
        blob = self._data[self._ends[row] : self._ends[row + 1]]
        try:
            text = zlib.decompressobj(-zlib.MAX_WBITS, zdict=self._dictionary).decompress(blob)
            return Record.unpack(json.loads(text), self._knowledge)
        except (ValueError, LookupError, TypeError, AttributeError, zlib.error) as error:
            raise DataError(
                f"expected game {index} of split {split!r} in a pack of TextWorld games, but it is "
                f"damaged ({error}); install the package again"
            ) from error


def _text(game: Game) -> bytes:
    """Write a game without its knowledge base; ASCII, so that bytes are characters."""
    text = json.dumps(Record.of(game).pack(), separators=(",", ":"))
    if Record.unpack(json.loads(text), game["KB"]).json() != game:
        raise DataError(
            "expected a game in the JSON that TextWorld's generator writes, got one of which a "
            "record would leave something out; pack generated games only"
        )
    return text.encode()


def _squeeze(text: bytes, dictionary: bytes) -> bytes:
    engine = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS, 9, zdict=dictionary)
    return engine.compress(text) + engine.flush()


if __name__ == "__main__":
    from pathlib import Path

    folder = Path(__file__).parent / "data"
    folder.mkdir(exist_ok=True)
    for setting in BUNDLED:
        (folder / f"{setting}.games").write_bytes(build(key=setting))
