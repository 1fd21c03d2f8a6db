"""What a box can be made of without an image, and what is told of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentgym.errors import DataError
from agentgym.sandbox.dockerfile import NO_IMAGE, ImageRecipe, read_recipe


def recipe_of(folder: Path, text: str) -> ImageRecipe:
    (folder / "Dockerfile").write_text(text)
    return read_recipe(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "a.txt").write_text("a")
    (tmp_path / "data" / "deep" / "b.txt").write_text("b")
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    return tmp_path


def test_files_variables_and_the_working_folder_are_read(folder: Path) -> None:
    recipe = recipe_of(
        folder,
        "# a comment\nfrom python:3.12-slim AS base\nARG X=1\nworkdir /app\nENV A=1 B='two words'\n"
        "ENV C three\nCOPY --chown=1:1 data \\\n   /app/data/\nCOPY run.sh .\n"
        "ADD data/a.txt /srv/\n"
        'COPY ["run.sh", "/srv/b.sh"]\nCMD ["bash"]\n',
    )
    assert (recipe.image, recipe.workdir, recipe.obstacles) == ("python:3.12-slim", "/app", ())
    assert recipe.environment == {"A": "1", "B": "two words", "C": "three"}
    assert dict(recipe.files) == {
        "/app/data/a.txt": folder / "data/a.txt",
        "/app/data/deep/b.txt": folder / "data/deep/b.txt",
        "/app/run.sh": folder / "run.sh",
        "/srv/a.txt": folder / "data/a.txt",
        "/srv/b.sh": folder / "run.sh",
    }
    assert recipe.writable == ("/srv",)


def test_a_folder_without_a_dockerfile_is_copied_whole(folder: Path) -> None:
    recipe = read_recipe(folder, workdir="/work")
    assert recipe.workdir == "/work" and not recipe.obstacles
    assert [place for place, _ in recipe.files] == [
        "/work/data/a.txt", "/work/data/deep/b.txt", "/work/run.sh"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "RUN pip install numpy",
        "COPY --from=base /a /app/a",
        "COPY data/*.txt /app/",
        "COPY run.sh /usr/bin/",
        "COPY run.sh /x",
        "ADD https://example.com/a /app/",
        "ENV A=$B",
        "WORKDIR /etc/x",
        "USER nobody",
        "FROM another",
        "COPY <<EOF /app/x",
        "ONBUILD RUN x",
        "ENV A 'x",
        "COPY 'x",
        "COPY [1, {}]",
        "COPY a\0b /app/",
        "WORKDIR /a\0",
    ],
)
def test_what_needs_an_image_is_told(line: str, folder: Path) -> None:
    recipe = recipe_of(folder, f"FROM python\n{line}\n")
    assert len(recipe.obstacles) == 1 and line.split()[0] in recipe.obstacles[0]


def test_a_comment_says_that_run_lines_need_none(folder: Path) -> None:
    text = f"FROM python\n{NO_IMAGE}\nRUN apt-get install \\\n  git\n"
    assert not recipe_of(folder, text).obstacles
    assert recipe_of(folder, text.replace(NO_IMAGE, "# other")).obstacles == (
        "RUN apt-get install git",
    )


def test_an_image_by_name_and_a_compose_file_are_obstacles(folder: Path) -> None:
    assert read_recipe(folder, "some/image:1").obstacles == ("docker_image = some/image:1",)
    (folder / "docker-compose.yaml").write_text("")
    assert recipe_of(folder, "FROM python\n").obstacles == ("docker-compose.yaml",)


@pytest.mark.parametrize("source", ["..", "../secret", "missing", "link"])
def test_nothing_outside_of_the_folder_is_copied(source: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    inner = tmp_path / "task"
    inner.mkdir()
    (inner / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(DataError, match="inside"):
        recipe_of(inner, f"FROM python\nCOPY {source} /app/x\n")


def test_links_in_a_folder_are_left_out(tmp_path: Path) -> None:
    inner = tmp_path / "task"
    (inner / "data").mkdir(parents=True)
    (tmp_path / "secret").write_text("s")
    (inner / "data" / "link").symlink_to(tmp_path / "secret")
    (inner / "data" / "folder").symlink_to(tmp_path)
    assert recipe_of(inner, "FROM python\nCOPY data /app\n").files == ()


def test_a_dockerfile_without_end_is_refused(folder: Path) -> None:
    with pytest.raises(DataError, match="at most"):
        recipe_of(folder, "#" * (2 << 20))


WORDS = ("COPY", "ADD", "ENV", "WORKDIR", "RUN", "USER", "FROM")
TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.tuples(st.sampled_from(WORDS), TEXTS), max_size=4))
def test_any_text_gives_files_of_the_folder_or_an_error_of_ours(
    lines: list[tuple[str, str]], folder: Path
) -> None:
    text = "\n".join(f"{word} {tail}" for word, tail in lines)
    try:
        recipe = recipe_of(folder, f"FROM x\n{text}")
    except DataError:
        return
    for place, path in recipe.files:
        assert place.startswith("/") and ".." not in place.split("/")
        assert path.resolve().is_relative_to(folder.resolve())
