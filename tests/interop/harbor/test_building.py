"""Images of Harbor's tasks that are built from their Dockerfiles, by a real engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym import evaluate
from agentgym.errors import EnvFailure
from agentgym.interop.harbor.folder import open_folder
from agentgym.sandbox.docker.engine import DockerEngine, find_engine
from tests.interop.harbor.test_harbor import opened, write_task
from tests.sandbox.conftest import usable
from tests.sandbox.images import ALL_TOOLS, import_image

BASE = "agentgym-test/base:1"


@pytest.fixture(scope="module")
def engine() -> Iterator[DockerEngine]:
    """An engine with an image to build on, as registries are out of reach."""
    usable("docker")
    engine = find_engine()
    import_image(engine, BASE, {}, python=True, tools=[*ALL_TOOLS, "awk", "tar", "gzip", "base64"])
    yield engine
    # By name: an image that another is built on loses its name alone, and stays for that one.
    names = [name for image in engine.api.images() for name in image.get("RepoTags") or ()]
    for name in names:
        if name.startswith("agentgym-"):
            engine.api.remove_image(name, force=True)


def test_what_its_dockerfile_says_is_there(engine: DockerEngine, tmp_path: Path) -> None:
    folder = write_task(tmp_path / "sum")
    says = f"FROM {BASE}\nWORKDIR /app\nCOPY numbers.txt .\nRUN echo built > /etc/motd\n"
    (folder / "environment/Dockerfile").write_text(says)
    env = opened(folder, sandbox="docker", build=True)
    assert evaluate("oracle", env, split="test").success == 1
    (task,) = open_folder(folder).tasks.values()
    built = [image["Id"] for image in engine.api.images(task.image)]
    assert len(built) == 1 and evaluate("random", env, split="test", horizon=2).success == 0
    assert [image["Id"] for image in engine.api.images(task.image)] == built
    env.close()


def test_a_build_that_fails_says_what_the_engine_said(engine: DockerEngine, tmp_path: Path) -> None:
    folder = write_task(tmp_path / "sum")
    (folder / "environment/Dockerfile").write_text(f"FROM {BASE}\nRUN nonsense-command\n")
    env = opened(folder, sandbox="docker", build=True)
    env.reset(seed=0)
    with pytest.raises(EnvFailure, match=r"expected to build the image .* nonsense-command"):
        env.step("```bash\nls\n```")
    env.close()
