"""The published sets: how their rows are known, and where their images hold what.

Where each fact comes from stands beside it; names in brackets are files of the project named.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentgym.errors import ConfigurationError, DataError

CONDA = ("/opt/miniconda3/envs/testbed/bin", "/opt/miniconda3/bin")
"""Where images of SWE-bench's kind keep their Python [SWE-bench: harness/dockerfiles]."""


@dataclass(frozen=True)
class DataSet:
    """What the rows of a published set have in common."""

    name: str
    """What it is called here."""
    hub: tuple[str, ...]
    """Its ids on the Hugging Face hub."""
    split: str
    """The split that rows belong to where nobody tells."""
    fields: tuple[str, ...]
    """Fields that its rows have."""
    without: tuple[str, ...] = ()
    """Fields that its rows do not have."""
    image: str = ""
    """The image of a row that names none: ``{id}`` is the instance, ``{repo}`` the repository."""
    separator: str = "_1776_"
    """What stands in names of images for the ``__`` of an id, which Docker does not allow."""
    workdir: str = "/testbed"
    """Where the images hold the repository; ``{repo}`` is the last part of its name."""
    path: tuple[str, ...] = CONDA
    """Folders of the images that hold the Python of the repository."""
    hidden: tuple[str, ...] = ()
    """Files and folders of the images that would tell an agent the tests."""
    protected: tuple[str, ...] = ()
    """Patterns of files of the repository that only the set may change."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that the tests need."""


DATA_SETS: Mapping[str, DataSet] = {
    dataset.name: dataset
    for dataset in (
        # The first whose fields a row has is taken, so the most particular stand first.
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
"""Every set by its name."""


NOT_PLAYED: Mapping[str, tuple[str, ...]] = {
    # [SWE-bench_Pro-os: swe_bench_pro_eval.py, run_scripts: a script and a parser per instance].
    "SWE-bench Pro": ("before_repo_set_cmd", "selected_test_files_to_run"),
    "Multi-SWE-bench": ("org", "number", "fix_patch"),
    "SWE-PolyBench": ("F2P", "P2P"),
}
"""Sets that are known by fields of their rows, and cannot be played."""


def data_set(name: Any) -> DataSet:
    """Return the set of a name, or of an id on the hub.

    Raises:
        ConfigurationError: There is no such set; lists those that exist.
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
