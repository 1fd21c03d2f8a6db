"""The bundled games: present, whole, small, and what the generator makes."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from agentgym.envs.textworld.games.bundled import BUNDLED, FORMAT, BundledPack, bundled, pack
from agentgym.envs.textworld.generator.config import DEFAULT, Custom, GeneratorConfig
from agentgym.envs.textworld.generator.generate import stored_plan, version
from agentgym.envs.textworld.generator.splits import fingerprint, make_split_game, split_of_content
from agentgym.errors import DataError


@pytest.fixture(scope="module", params=BUNDLED)
def games(request: pytest.FixtureRequest) -> BundledPack:
    pack_of_setting = bundled(request.param)
    assert pack_of_setting is not None and pack_of_setting.settings == request.param
    return pack_of_setting


def test_they_are_small_and_the_default_is_among_them(games: BundledPack) -> None:
    assert games.sizes == BUNDLED[games.settings]
    data = files("agentgym.envs.textworld.games") / "data" / f"{games.settings}.games"
    assert len(data.read_bytes()) < 2_500_000
    assert DEFAULT in BUNDLED
    assert bundled("simple") is None
    assert bundled("w2-o3-q5") is None


@pytest.mark.slow
def test_every_game_is_whole_and_in_the_right_split(games: BundledPack) -> None:
    setting, sizes = GeneratorConfig.of(games.settings), BUNDLED[games.settings]
    prints: dict[str, set[str]] = {split: set() for split in sizes}
    for split, size in sizes.items():
        for index in range(size):
            game = games.game(split, index)
            assert split_of_content(setting, game) == split
            assert game["metadata"]["agentgym"]["split"] == split
            plan = stored_plan(game) or ()
            assert 1 <= len(plan) <= 8
            if isinstance(setting, Custom):
                assert setting.quest_end == "any" or plan[-1].startswith(("put ", "insert "))
            else:
                assert plan[1:] == ("prepare meal", "eat meal")
            assert game["objective"]
            prints[split].add(fingerprint(game))
    assert prints["train"].isdisjoint(prints["valid"] | prints["test"])
    assert prints["valid"].isdisjoint(prints["test"])
    # A few repeat another in other words: one house of the 2,000, and 28 of 1,300 small kitchens.
    repeated = sum(sizes.values()) - sum(map(len, prints.values()))
    assert repeated <= (1 if isinstance(setting, Custom) else 28)


@pytest.mark.parametrize(("split", "index"), [("train", 0), ("train", 999), ("test", 57)])
def test_they_are_what_the_generator_makes(games: BundledPack, split: str, index: int) -> None:
    pytest.importorskip("textworld", reason="needs the package textworld")
    if version() != games.made_with:
        pytest.skip(f"bundled with textworld {games.made_with}, {version()} is installed")
    assert games.game(split, index) == make_split_game(
        GeneratorConfig.of(games.settings), split, index
    )


def test_a_game_can_be_changed_without_harm(games: BundledPack) -> None:
    games.game("valid", 1)["objective"] = ""
    assert games.game("valid", 1)["objective"]


def small_pack() -> tuple[bytes, dict[str, list[dict[str, object]]]]:
    content: dict[str, list[dict[str, object]]] = {
        split: [
            {
                "world": [],
                "infos": [],
                "quests": [],
                "KB": {"logic": "rules é"},
                "n": [split, row, "\u2014" * row],
            }
            for row in range(3)
        ]
        for split in ("train", "test")
    }
    return pack("key", "1.7.0", content), content


def test_packs_give_back_what_went_in() -> None:
    data, content = small_pack()
    opened = BundledPack(data)
    assert (opened.settings, opened.made_with) == ("key", "1.7.0")
    assert opened.sizes == {"train": 3, "test": 3}
    for split, entries in content.items():
        assert [opened.game(split, row) for row in range(3)] == entries
    with pytest.raises(IndexError):
        opened.game("train", 3)
    with pytest.raises(KeyError):
        opened.game("valid", 0)


def test_packs_need_one_knowledge_base() -> None:
    with pytest.raises(DataError, match="same knowledge base"):
        pack("key", "1", {"train": [{"KB": {"logic": "a"}}, {"KB": {"logic": "b"}}]})
    _, content = small_pack()
    content["train"][0]["world"] = [{"name": "lit", "arguments": [], "since": "noon"}]
    with pytest.raises(DataError, match="leave something out"):
        pack("key", "1", content)
    with pytest.raises(DataError, match="one or more games"):
        pack("key", "1", {"train": []})


def test_damaged_packs_are_told() -> None:
    data, _ = small_pack()
    for bad_input in (b"", b"00000010", b"xyz", data[:30], b"00000000" + data[8:]):
        with pytest.raises(DataError, match="install the package again"):
            BundledPack(bad_input)
    cut = BundledPack(data[:-20])
    with pytest.raises(DataError, match=r"game 2 of split 'test'.*damaged"):
        cut.game("test", 2)


def test_packs_of_another_format_are_refused() -> None:
    import zlib

    head = zlib.compress(json.dumps({"format": FORMAT + 1}).encode())
    with pytest.raises(DataError, match=f"its format is {FORMAT + 1}"):
        BundledPack(b"%08x" % len(head) + head)
