"""Three small repositories with faults, for tests that need nothing of the bundled ones."""

from __future__ import annotations

from pathlib import Path

from agentgym.envs.swe.edits import write_diff
from agentgym.envs.swe.env import SWEEnv
from agentgym.envs.swe.instance import Edit, FolderSource, HeldOut, Instance
from agentgym.envs.swe.making.banks import states
from agentgym.envs.swe.making.held_out.building import BankBuilder, QuestionedTask
from agentgym.envs.swe.making.wrong_repairs import edits_anywhere
from agentgym.envs.swe.trees import contents
from agentgym.errors import TaskNotFound
from agentgym.support.random_stream import Stream

FOLDER = Path(__file__).parent / "repositories"


class SmallSet:
    """Instances that were made by hand: one or two for each split.

    Args:
        first: What takes the place of the first one.
    """

    splits = ("train", "valid", "test")

    def __init__(self, first: Instance | None = None) -> None:
        self._instances = {
            "train": [
                make_instance(
                    "sums", "sums/plain.py", "return a + b", "return a - b",
                    ("tests/test_plain.py::test_add", "tests/test_plain.py::test_add_twice"),
                    ("tests/test_plain.py::test_mul", "tests/test_plain.py::TestSign::test_zero"),
                ),
                make_instance(
                    "sums", "sums/plain.py", "return a * b", "return a + b",
                    ("tests/test_plain.py::test_mul",),
                    ("tests/test_plain.py::test_add", "tests/test_plain.py::test_add_twice"),
                ),
            ],
            "valid": [
                make_instance(
                    "ranges", "ranges.py", "low <= value", "low < value",
                    ("tests/test_ranges.py::test_ends[0]",),
                    ("tests/test_ranges.py::test_ends[9]", "tests/test_ranges.py::test_outside"),
                ),
            ],
            "test": [
                make_instance(
                    "words", "src/words/counting.py", "counts.get(word, 0) + 1",
                    "counts.get(word, 0)",
                    ("tests/test_words.py::test_counts", "tests/test_words.py::test_most"),
                    ("tests/test_words.py::test_nothing",),
                ),
            ],
        }  # fmt: skip
        if first is not None:
            self._instances["train"][0] = first

    def len(self, split: str) -> int:
        return len(self._instances[split])

    def instance(self, split: str, index: int) -> Instance:
        return self._instances[split][index]

    def find(self, instance_id: str) -> tuple[str, int]:
        for split, instances in self._instances.items():
            for index, instance in enumerate(instances):
                if instance.id == instance_id:
                    return split, index
        raise TaskNotFound(f"expected the id of an instance, got {instance_id!r}")


def make_instance(
    name: str,
    path: str,
    right: str,
    wrong: str,
    fail_to_pass: tuple[str, ...],
    pass_to_pass: tuple[str, ...],
) -> Instance:
    """Make an instance by one replacement in a file."""
    folder = FOLDER / name
    start = (folder / path).read_bytes().index(right.encode())
    sound = FolderSource(folder)
    faulty = FolderSource(folder, (Edit(path, start, right, wrong),))
    return Instance(
        id=f"{name}-{start}",
        repo=name,
        statement=f"Something is wrong with {name}: see its tests.",
        source=faulty,
        patch=write_diff(contents(faulty), contents(sound)),
        fail_to_pass=fail_to_pass,
        pass_to_pass=pass_to_pass,
    )


def make_bank(instance: Instance, folder: Path) -> HeldOut:
    """Make held-out questions for an instance of ``sums``, and for wrong repairs of it."""
    assert isinstance(instance.source, FolderSource)
    _, faulty, tests = states(instance)
    file, fault = (
        folder / "sums.json.gz",
        QuestionedTask(instance.id, faulty, instance.fail_to_pass),
    )
    [(path, content)] = faulty.items()
    assert content is not None
    # What only the tests accept, the fault itself, and what is right.
    repairs = [b"a + b if a < 4 else a - b", b"a - b", b"b + a"]
    with BankBuilder(instance.source.folder, "d", file, tests=tests) as builder:
        builder.add([fault])
        builder.tell_apart(fault, [{path: content.replace(b"a - b", new)} for new in repairs])
        sound = (instance.source.folder / path).read_bytes()
        builder.guard(edits_anywhere({path: sound}, Stream("edits")))
    return HeldOut(file, "d")


def small_env(first: Instance | None = None, **kwargs: object) -> SWEEnv:
    """Make an environment over the small repositories."""
    return SWEEnv(data=SmallSet(first), **kwargs)  # type: ignore[arg-type]


def bash(command: str) -> str:
    """Write a command as a policy would."""
    return f"I try this.\n\n```bash\n{command}\n```\n"


SUBMIT = "```submit\n```"
