"""Official files: whatever is wrong with them is said when the environment is made, by name."""

from __future__ import annotations

import copy
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentgym.envs.webshop.env import WebShopEnv
from agentgym.envs.webshop.official.files import locate
from agentgym.errors import ConfigurationError, DataError
from tests.envs.webshop.conftest import INSTRUCTIONS, ITEMS

ITEMS_FILE, INS_FILE, HUMAN_FILE = (
    "items_shuffle_1000.json",
    "items_ins_v2_1000.json",
    "items_human_ins.json",
)
PEOPLE = {
    f"B0{number:08d}": [
        {
            "instruction": f"a thing of kind {k}.",
            "instruction_attributes": ["breathable"],
            "instruction_options": ["navy"],
        }
        for k in range(3)
    ]
    for number in range(20)
}
MODES: tuple[dict[str, Any], ...] = (
    {"goal_mode": "official"},
    {"goal_mode": "official", "human_goals": True},
    {"observation_mode": "compact"},
)
READERS = {ITEMS_FILE: (MODES[0], MODES[2]), INS_FILE: (MODES[0], MODES[2]),
           HUMAN_FILE: (MODES[1],)}  # fmt: skip
"""Where what is in a file can be seen: a mode reads the same of it as another, or nothing."""
ABSENT = object()
VALUES = [
    None, True, 5, 2.5, float("nan"), "", " ", "word", "\ud800 lone", "[", "]", "a\nb", "\u00a0",
    "</click>", "<think>", "$", "$$", "$1e999", "$" + "9" * 400, [], {}, [None], [5], ["x"],
    [["x"]], [{}], {"value": 5}, {"Color": 5}, {"Color": [5]}, {"Color": [{}]},
    {"Color": [{"value": 5}]}, {"\ud800": [{"value": "x"}]},
    {"Color": [{"value": "b[l]ue"}, {"value": "\ud800"}, {"value": "two  spaces"}, {"value": ""},
               {"value": "buy now"}, {"value": "back"}, {"value": "\u2028x"}]},
    "x" * 40_000, ABSENT,
]  # fmt: skip


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build every shop in memory: each is used once."""
    monkeypatch.setenv("AGENTGYM_CACHE", f"{os.devnull}/none")


def write(folder: Path, items: Any, instructions: Any, people: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in ((ITEMS_FILE, items), (INS_FILE, instructions), (HUMAN_FILE, people)):
        (folder / name).write_text(json.dumps(content))
    return folder


def change(entry: dict[str, Any], field: str, value: Any) -> None:
    if value is ABSENT:
        entry.pop(field, None)
    else:
        entry[field] = value


def play(folder: Path, **kwargs: Any) -> None:
    """Make the environment and see every kind of page; only making it may fail."""
    try:
        env = WebShopEnv(data=str(folder), horizon=60, **kwargs)
    except ConfigurationError as error:
        assert "expected goals for every split" in str(error)
        return
    for index in range(2):
        observation, info = env.reset(options={"split": "train", "index": index})
        for action in ("search[running shoes thing]", *walk(env)):
            observation.encode()
            json.dumps(info, ensure_ascii=False).encode()
            observation, _, is_done, _, info = env.step(action)
            assert not is_done or action.startswith("click[buy")
        env.tasks.oracle_turns(env.task)


def walk(env: WebShopEnv) -> list[str]:
    """List actions that see the first hit whole, choose all its options and buy it."""
    hits = env.shop.search("running shoes thing")
    if not hits:
        return ["click[back to search]"]
    first = "1" if env.observation_mode == "compact" else hits[0].lower()
    steps = [f"click[{first}]"]
    for name in ("description", "features", "reviews"):
        steps += [f"click[{name}]", "click[< prev]"]
    options = env.shop.products[hits[0]].choosable
    return [*steps, *(f"click[{value}]" for value in options), "click[buy now]"]


FIELDS = [(ITEMS_FILE, field) for field in (
    "asin", "name", "full_description", "small_description", "pricing", "images",
    "product_category", "category", "query", "customization_options")]  # fmt: skip
FIELDS += [(INS_FILE, f) for f in ("attributes", "instruction", "instruction_attributes")]
FIELDS += [
    (HUMAN_FILE, f) for f in ("instruction", "instruction_attributes", "instruction_options")
]


@pytest.mark.slow
@pytest.mark.parametrize(("file", "field"), FIELDS)
def test_a_field_of_any_kind_loads_and_plays_or_is_named(
    file: str, field: str, tmp_path: Path
) -> None:
    refused = set()
    for number, value in enumerate(VALUES):
        items, instructions, people = copy.deepcopy((ITEMS, INSTRUCTIONS, PEOPLE))
        changed: list[dict[str, Any]] = {
            ITEMS_FILE: items[2:3] if field == "asin" else items,
            INS_FILE: list(instructions.values()),
            HUMAN_FILE: [entry for entries in people.values() for entry in entries],
        }[file]
        for entry in changed:
            change(entry, field, value)
        folder = write(tmp_path / str(number), items, instructions, people)
        for mode in READERS[file]:
            try:
                play(folder, **mode)
            except DataError as error:
                refused.add(number)
                assert file in str(error) and field in str(error), (value, error)
                assert "expected" in str(error) and "got" in str(error)
                assert "item 2" in str(error) or "B0" in str(error) or "item 0" in str(error)
    assert len(refused) > 1 or field == "images", "nothing was refused: the table is no test"


@pytest.mark.parametrize("file", [ITEMS_FILE, INS_FILE, HUMAN_FILE])
@pytest.mark.parametrize("value", [None, 5, "text", ["x"], [], {}, [[5]]])
def test_an_entry_of_any_kind_loads_and_plays_or_is_named(
    file: str, value: Any, tmp_path: Path
) -> None:
    items, instructions, people = copy.deepcopy((ITEMS, INSTRUCTIONS, PEOPLE))
    content: dict[str, Any] = {ITEMS_FILE: items, INS_FILE: instructions, HUMAN_FILE: people}
    content[file][2 if file == ITEMS_FILE else "B000000002"] = value
    folder = write(tmp_path, items, instructions, people)
    for mode in MODES:
        try:
            play(folder, **mode)
        except DataError as error:
            assert file in str(error), error
            assert "item 2" in str(error) or "B000000002" in str(error), error


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(FIELDS), JSON, st.sampled_from(MODES))
def test_any_json_loads_and_plays_or_is_named(
    tmp_path_factory: pytest.TempPathFactory,
    place: tuple[str, str],
    value: Any,
    mode: dict[str, Any],
) -> None:
    file, field = place
    items, instructions, people = copy.deepcopy((ITEMS, INSTRUCTIONS, PEOPLE))
    entry: dict[str, Any] = {
        ITEMS_FILE: items[2],
        INS_FILE: instructions["B000000002"],
        HUMAN_FILE: people["B000000002"][1],
    }[file]
    entry[field] = value
    folder = write(tmp_path_factory.mktemp("any"), items, instructions, people)
    try:
        play(folder, **mode)
    except DataError as error:
        assert file in str(error) and field in str(error)


def damage(name: str, data: bytes) -> bytes:
    packed = gzip.compress(data, mtime=0)
    return {
        "truncated": packed[: len(packed) // 2],
        "empty": b"",
        "deflate": packed[:20] + bytes(255 - byte for byte in packed[20:60]) + packed[60:],
        "no gzip": data,
        "no json": gzip.compress(b"{]"),
        "deep": gzip.compress(b"[" * 200_000 + b"]" * 200_000),
        "long number": gzip.compress(b"[" + b"9" * 9999 + b"]"),
        "latin-1": gzip.compress(b'["\xe9"]'),
        "other kind": gzip.compress(b"3"),
    }[name]


@pytest.mark.parametrize("file", [ITEMS_FILE, INS_FILE, HUMAN_FILE])
@pytest.mark.parametrize("how", ["truncated", "empty", "deflate", "no gzip", "no json", "deep",
                                 "long number", "latin-1", "other kind"])  # fmt: skip
def test_a_damaged_file_is_named(file: str, how: str, tmp_path: Path) -> None:
    write(tmp_path, ITEMS, INSTRUCTIONS, PEOPLE)
    data = (tmp_path / file).read_bytes()
    (tmp_path / file).unlink()
    (tmp_path / f"{file}.gz").write_bytes(damage(how, data))
    with pytest.raises(DataError, match=f"{file}.gz"):
        WebShopEnv(data=str(tmp_path), goal_mode="official", human_goals=True)


def test_what_the_folder_lacks_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="which does not exist"):
        WebShopEnv(data=tmp_path / "nowhere")
    with pytest.raises(DataError, match="which holds nothing"):
        locate(tmp_path)
    (tmp_path / ITEMS_FILE).write_text("[]")
    with pytest.raises(DataError, match=f"expected items_ins_v2.json .* holds {ITEMS_FILE}"):
        locate(tmp_path)
    with pytest.raises(DataError, match="which is no folder"):
        WebShopEnv(data=str(tmp_path / ITEMS_FILE))


@pytest.mark.parametrize("name", ["x" * 5000, "x\0y", "/dev/null/x", "/proc/1/mem"])
def test_paths_that_cannot_be_read_are_named(name: str) -> None:
    for argument in ({"data": name}, {"nouns": f"{name}.json", "size": 60}):
        with pytest.raises(DataError, match=r"expected .*(data|JSON file)"):
            WebShopEnv(**argument)  # type: ignore[arg-type]


def test_a_folder_in_the_home_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "shop", ITEMS, INSTRUCTIONS, PEOPLE)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert len(WebShopEnv(data="~/shop").shop.products) == 24
