"""A protocol that somebody else made imports nothing, and reads no variable of this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agentgym
from agentgym.cli import main
from agentgym.protocols import find_prompt, load_protocol
from agentgym.registration import FAMILIES
from agentgym.trust import NotTrusted, trusting
from tests.trust.acts import MODULE, SECRET, Place, acting_arguments, hostile_place


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Return the folder of a download."""
    with hostile_place(tmp_path / "download", monkeypatch) as download:
        yield download


def _write(section: str, /, **tables: Any) -> Path:
    lines = ['format = "agentgym.protocol/1"', 'name = "mine"', f"[{section}]", "horizon = 3"]
    for table, entries in {"tasks": {"split": "test"}, **tables}.items():
        lines.append(f"[{section}.{table}]")
        lines += [f"{name} = {json.dumps(value)}" for name, value in entries.items()]
    path = Path("mine.toml")
    path.write_text("\n".join(lines))
    return path


def test_no_argument_that_is_not_plain(place: Place) -> None:
    families = {entry.name for entry in FAMILIES}
    official = {"argument": "data", "variable": "ALFWORLD_DATA", "remedy": "none"}
    for kind, name, row in acting_arguments():
        if kind not in families:
            continue
        value = place.value(row, name)
        _write(kind, env={name: value})
        with pytest.raises(NotTrusted, match="--trust"):
            load_protocol("mine.toml")
        with pytest.raises(NotTrusted, match="--trust"):
            find_prompt("mine.toml", kind)
        path = _write(kind, data=official)
        path.write_text(f"{path.read_text()}\nenv = {{ {name} = {json.dumps(value)} }}")
        with pytest.raises(NotTrusted, match="--trust"):
            load_protocol(path)
        place.assert_that_nothing_happened()


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "HOME", "AGENTGYM_SANDBOX_TOKEN"])
def test_no_variable_of_this_machine_is_read(
    place: Place, variable: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _write("alfworld", data={"argument": "data", "variable": variable, "remedy": "none"})
    argv = ["eval", "alfworld", "--num-tasks", "1", "--protocol", "mine.toml"]
    assert main(argv) == 2
    message = capsys.readouterr().err
    assert f"--trust variable={variable}" in message and SECRET not in message
    with pytest.raises(NotTrusted):
        agentgym.evaluate("random", "alfworld", num_tasks=1, protocol="mine.toml")
    place.assert_that_nothing_happened()


def test_a_variable_becomes_no_other_argument_than_a_path(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_QUESTIONS", f"{MODULE}:Thing")
    for argument in ("sandbox", "allow_unsafe", "brand_new"):
        data = {"argument": argument, "variable": "SEARCH_QUESTIONS", "remedy": "none"}
        _write("swe", data=data)
        with pytest.raises(NotTrusted, match=f"argument={argument}"):
            agentgym.evaluate("random", "swe", num_tasks=1, protocol="mine.toml")
    place.assert_that_nothing_happened()


@pytest.mark.parametrize("names", ["../secret.txt", "/etc/passwd", "sub/secret.txt"])
def test_a_list_of_items_lies_beside_the_file(place: Place, names: str) -> None:
    (place.folder.parent / "secret.txt").write_text(f"{SECRET}\n")
    path = _write("alfworld")
    path.write_text(f'{path.read_text()}\nitems = {{ prefix = "a_", task_id = "x/{{name}}", '
                    f'names = "{names}" }}')  # fmt: skip
    with pytest.raises(NotTrusted) as refused:
        load_protocol(path)
    assert SECRET not in str(refused.value) and f"names={names}" in str(refused.value)


def test_the_command_takes_the_flag_that_its_refusal_shows(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    _write("swe", env={"sandbox": f"{MODULE}:Thing"})
    argv = ["eval", "swe", "--policy", "random", "--num-tasks", "1", "--protocol", "mine.toml"]
    assert main(argv) == 2
    assert f"--trust sandbox={MODULE}:Thing" in capsys.readouterr().err
    place.assert_that_nothing_happened()
    assert main([*argv, "--trust", f"sandbox={MODULE}:Thing"]) == 2
    assert Path("imported").exists()


def test_a_plain_protocol_and_those_of_the_package_need_no_trust(place: Place) -> None:
    assert load_protocol(_write("swe", env={"sandbox": "docker", "difficulty": "easy"})).setups
    with trusting("data=data.json", say=lambda text: None):
        assert load_protocol(_write("textcraft", env={"data": "data.json"})).setups
