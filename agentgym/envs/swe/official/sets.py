"""The table of published sets: how to recognise their rows, and the layout of their images.

Comments give the source of each fact; brackets contain the project and its files.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentgym.errors import ConfigurationError, DataError

CONDA = ("/opt/miniconda3/envs/testbed/bin", "/opt/miniconda3/bin")
"""Folders of Python in images built like SWE-bench's [SWE-bench: harness/dockerfiles]."""


@dataclass(frozen=True)
class DataSet:
    """Properties of a published set."""

    name: str
    """Name in agentgym."""
    hub: tuple[str, ...]
    """Its ids on the Hugging Face hub."""
    split: str
    """Split of rows whose source names none."""
    fields: tuple[str, ...]
    """Fields that all its rows have; they recognise the set."""
    without: tuple[str, ...] = ()
    """Fields that none of its rows has."""
    image: str = ""
    """Image of rows that name none: ``{id}`` is the instance's id, ``{repo}`` the repository."""
    separator: str = "_1776_"
    """Replacement for ``__`` of an id in the image's name, where Docker does not allow it."""
    workdir: str = "/testbed"
    """Path of the repository in the images; ``{repo}`` is the last part of its name."""
    path: tuple[str, ...] = CONDA
    """Folders in the images to put first in ``PATH``: those of the repository's Python."""
    hidden: tuple[str, ...] = ()
    """Files and folders in the images to hide from agents, because they reveal the tests."""
    protected: tuple[str, ...] = ()
    """Patterns of files in the repository in which the agent's changes do not count."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of commands and tests."""


DATA_SETS: Mapping[str, DataSet] = {
    dataset.name: dataset
    for dataset in (
        # The first set whose fields match a row is chosen, so the most specific come first.
        DataSet(
            # Images hold the tests in /r2e_tests and /testbed/run_tests.sh runs them from
            # /testbed/r2e_tests [R2E-Gym: agenthub/runtime/docker.py; verifiers: r2e_gym.py].
            "r2e-gym",
            ("R2E-Gym/R2E-Gym-Subset", "R2E-Gym/R2E-Gym-Lite"),
            "train",
            ("docker_image", "expected_output_json"),
            path=("/testbed/.venv/bin", "/root/.local/bin"),
            hidden=("/r2e_tests", "/root/r2e_tests", "/testbed/r2e_tests", "/testbed/run_tests.sh",
                    "/root/run_tests.sh"),
            protected=("r2e_tests", "r2e_tests/**", "run_tests.sh"),
        ),
        DataSet(
            # Images hold the repository in /<repo>; install_config has test_cmd and log_parser
            # [SWE-rebench-V2: scripts/eval.py; verifiers: swe_rebench_v2.py].
            "swe-rebench-v2",
            ("nebius/SWE-rebench-V2",),
            "train",
            ("install_config", "image_name"),
            workdir="/{repo}",
        ),
        DataSet(
            # [SWE-rebench/SWE-bench-fork: harness/test_spec/test_spec.py, README: --namespace].
            "swe-rebench",
            ("nebius/SWE-rebench", "nebius/SWE-rebench-leaderboard"),
            "test",
            ("install_config",),
            image="swerebench/sweb.eval.x86_64.{id}:latest",
        ),
        DataSet(
            # One image for each repository and commit, sound; the patch of a row is its fault
            # [SWE-smith: profiles/base.py, harness/utils.py].
            "swe-smith",
            ("SWE-bench/SWE-smith", "SWE-bench/SWE-smith-py"),
            "train",
            ("image_name",),
            without=("base_commit", "test_patch"),
            image="jyangballin/swesmith.x86_64.{repo}:latest",
        ),
        DataSet(
            # [SWE-bench: harness/test_spec/test_spec.py; image_builder/image_spec.py since 5.0].
            "swe-bench-verified",
            ("SWE-bench/SWE-bench_Verified", "princeton-nlp/SWE-bench_Verified"),
            "test",
            ("base_commit", "test_patch", "difficulty"),
            image="swebench/sweb.eval.x86_64.{id}:latest",
            environment={"PYTHONIOENCODING": "utf8"},
        ),
        DataSet(
            "swe-bench",
            ("SWE-bench/SWE-bench", "princeton-nlp/SWE-bench"),
            "test",
            ("base_commit", "test_patch", "environment_setup_commit"),
            image="swebench/sweb.eval.x86_64.{id}:latest",
            environment={"PYTHONIOENCODING": "utf8"},
        ),
        DataSet(
            # Its rows are those of swe-bench, from which they cannot be told apart.
            "swe-bench-lite",
            ("SWE-bench/SWE-bench_Lite", "princeton-nlp/SWE-bench_Lite"),
            "test",
            ("base_commit", "test_patch", "environment_setup_commit"),
            image="swebench/sweb.eval.x86_64.{id}:latest",
            environment={"PYTHONIOENCODING": "utf8"},
        ),
        DataSet(
            # [SWE-Gym: README, docs/OpenHands.md].
            "swe-gym",
            ("SWE-Gym/SWE-Gym", "SWE-Gym/SWE-Gym-Lite"),
            "train",
            ("base_commit", "test_patch"),
            image="xingyaoww/sweb.eval.x86_64.{id}:latest",
            separator="_s_",
        ),
    )
}  # fmt: skip
"""The supported sets, by name."""


NOT_PLAYED: Mapping[str, tuple[str, ...]] = {
    # [SWE-bench_Pro-os: swe_bench_pro_eval.py, run_scripts: a script and a parser per instance].
    "SWE-bench Pro": ("before_repo_set_cmd", "selected_test_files_to_run"),
    "Multi-SWE-bench": ("org", "number", "fix_patch"),
    "SWE-PolyBench": ("F2P", "P2P"),
}
"""Known sets that are not supported, and the fields that recognise them."""


def data_set(name: Any) -> DataSet:
    """Return the set with a name, or with an id on the hub.

    Raises:
        ConfigurationError: There is no such set; the message lists those that exist.
    """
    dataset = known_set(name) if isinstance(name, str) else None
    if dataset is None:
        raise ConfigurationError(
            f"expected a data set among {', '.join(DATA_SETS)}, or its id on the hub; "
            f"got {name!r:.100}"
        )
    return dataset


def known_set(name: str) -> DataSet | None:
    """Return the set of a name, or of an id on the hub; None if there is no such set."""
    lowered = name.lower()
    for dataset in DATA_SETS.values():
        if lowered == dataset.name or lowered in map(str.lower, dataset.hub):
            return dataset
    return None


def recognise(fields: Collection[str]) -> DataSet:
    """Return the set whose rows have these fields.

    Raises:
        DataError: No set's rows look like this.
    """
    for name, needed in NOT_PLAYED.items():
        if all(field_ in fields for field_ in needed):
            raise DataError(
                f"expected rows of a set among {', '.join(DATA_SETS)}, got rows of {name}: how its "
                "tests are run and read does not stand in them, so they cannot be played here"
            )
    for dataset in DATA_SETS.values():
        if all(name in fields for name in dataset.fields) and not any(
            name in fields for name in dataset.without
        ):
            return dataset
    raise DataError(
        f"expected rows of a set among {', '.join(DATA_SETS)}, got rows with the fields "
        f"{', '.join(map(str, fields))!r:.300}; say which set it is if you know it"
    )
