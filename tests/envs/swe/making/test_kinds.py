"""Kinds of tasks that are more than one token: what they propose, and that they can be built."""

from __future__ import annotations

import ast
import json

import pytest

from agentgym.envs.swe.edits import edited_files
from agentgym.envs.swe.env import SWEEnv
from agentgym.envs.swe.making.kinds import KINDS, LARGER, LibrarySource
from agentgym.envs.swe.making.task_builder import TRIALS
from agentgym.envs.swe.stored_instances import StoredInstances
from agentgym.errors import DataError
from agentgym.support.random_stream import Stream
from tests.cli.test_commands import run
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.making.two_modules import make_two_modules

PATCH = """--- a/prices/checking.py
+++ b/prices/checking.py
@@ -7,9 +7,6 @@
     \"\"\"Return prices that are neither negative nor above ``most``, less a discount.\"\"\"
     kept = []
     for price in prices:
-        # Nobody pays for taking.
-        if price < 0:
-            raise ValueError(f"a negative price: {price}")
         if price > most:
             raise OverflowError(f"too much: {price}")
         kept.append(price - discount)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return LibrarySource.read(make_two_modules(tmp_path_factory.mktemp("library") / "prices"))


def proposed(library, kind, seed=0):
    return [*KINDS[kind](library, Stream("test", seed), 4)]


def faulty(library, candidate):
    return {
        path: content.decode()
        for path, content in edited_files(
            lambda path: library.sources[path].content, candidate.edits
        ).items()
    }


@pytest.mark.parametrize("kind", LARGER)
def test_candidates_are_other_programs_and_the_same_for_a_seed(library, kind):
    candidates = proposed(library, kind)
    assert candidates and all(library.changed(candidate) for candidate in candidates)
    assert len({candidate.key for candidate in candidates}) == len(candidates)
    assert [candidate.key for candidate in candidates] == [
        candidate.key for candidate in proposed(library, kind)
    ]


def test_two_faults_lie_in_two_files(library):
    for candidate in proposed(library, "two-faults"):
        assert [len(part) for part in candidate.parts] == [1, 1]
        assert len({edit.path for edit in candidate.edits}) == 2


def test_a_removed_feature_keeps_its_signature_and_its_description(library):
    candidates = {candidate.place: candidate for candidate in proposed(library, "removed-feature")}
    assert candidates.keys() == {"total", "checked"}  # `whole` is a line
    text = faulty(library, candidates["total"])["prices/adding.py"]
    node = next(n for n in ast.parse(text).body if getattr(n, "name", "") == "total")
    assert ast.get_docstring(node).startswith("Return the sum")
    assert ast.unparse(node.body[1]) == "raise NotImplementedError" and len(node.body) == 2
    assert candidates["total"].request == "`total`"


def test_missing_validation_goes_with_its_comment_together_and_alone(library):
    candidates = proposed(library, "missing-validation")
    assert sorted(len(candidate.parts) for candidate in candidates) == [1, 1, 2]
    text = faulty(library, max(candidates, key=lambda candidate: len(candidate.parts)))[
        "prices/checking.py"
    ]
    assert "raise" not in text and "Nobody pays" not in text


def test_a_moved_function_lacks_an_import_that_the_repair_brings(library):
    [candidate] = proposed(library, "moved-function")
    files = faulty(library, candidate)
    assert "def whole" in files["prices/checking.py"]
    assert "from prices.checking import whole" in files["prices/adding.py"]
    assert "import math" not in files["prices/checking.py"]
    assert [edit.new for edit in candidate.repair] == ["import math\n"]


def test_an_older_interface_reaches_all_files_and_the_docstring(library):
    candidate = next(
        proposal
        for proposal in proposed(library, "changed-interface")
        if proposal.place == "discount"
    )
    files = faulty(library, candidate)
    assert candidate.request == (
        "the parameter `discount_option` of `total` and `checked` should be called `discount`"
    )
    for text in files.values():
        names = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
        assert "discount" not in names
    assert "discount_option: What is taken off" in files["prices/adding.py"]
    assert len(files) == 2


def test_two_parameters_change_places_in_the_definition_and_in_every_call(library):
    candidate = next(
        proposal
        for proposal in proposed(library, "changed-interface")
        if proposal.place == "checked"
    )
    files = faulty(library, candidate)
    assert "checked(1000, prices)" in files["prices/adding.py"]
    assert "def checked(most: int, prices: list[int]," in files["prices/checking.py"]
    assert candidate.request.startswith("`checked` should take `prices` before `most`")


@pytest.fixture
def patches(tmp_path):
    """A folder with one regression of the library."""
    folder = tmp_path / "patches"
    folder.mkdir()
    (folder / "no-guard.patch").write_text(PATCH)
    return folder


def test_a_regression_is_what_its_patch_says_and_knows_its_releases(tmp_path, patches):
    folder = make_two_modules(tmp_path / "prices-2.1")
    [candidate] = proposed(LibrarySource.read(folder, patches, "2.0"), "regression")
    assert (candidate.place, candidate.releases) == ("checked", ("2.0", "2.1"))
    text = faulty(LibrarySource.read(folder), candidate)["prices/checking.py"]
    assert "ValueError" not in text and "OverflowError" in text
    assert not proposed(LibrarySource.read(folder), "regression")


@pytest.mark.parametrize("path", ["prices/gone.py", "README.md"])
def test_a_patch_of_another_library_is_refused(tmp_path, patches, path):
    (patches / "no-guard.patch").write_text(PATCH.replace("prices/checking.py", path))
    library = LibrarySource.read(make_two_modules(tmp_path / "prices"), patches)
    with pytest.raises(DataError):
        proposed(library, "regression")


@needs_box
@pytest.mark.slow
def test_a_regression_is_built_by_a_command_and_its_issue_names_both_releases(
    tmp_path, patches, capsys
):
    folder, out = make_two_modules(tmp_path / "prices-2.1"), tmp_path / "out"
    argv = ["swe", "build", str(folder), "--kind", "regression", "--out", str(out), "--no-held-out"]
    code, _, err = run(capsys, *argv)
    assert code == 2 and "--regressions FOLDER" in err
    argv += ["--regressions", str(patches), "--release-before", "2.0"]
    assert run(capsys, *argv)[0] == 0
    [record] = StoredInstances(out).records().values()
    assert record.id == "prices-2.1-regression-001"
    assert "2.0" in record.statement and "2.1" in record.statement


def solve(folder):
    """Let the expert solve the tasks of a folder."""
    env = SWEEnv(data=folder, expert="developer")
    for task in [task for split in env.tasks.splits for task in env.tasks.iterate(split)]:
        env.reset(options={"task_id": task.id})
        over, info = False, {}
        while not over:
            _, _, terminated, truncated, info = env.step(str(env.demonstrator_action()))
            over = terminated or truncated
        assert info["success"], env.session.instance.id
    env.close()


@needs_box
@pytest.mark.slow
def test_all_kinds_are_built_by_one_command_and_solved_by_the_expert(tmp_path, capsys):
    library, out = make_two_modules(tmp_path / "prices"), tmp_path / "out"
    argv = ("swe", "build", str(library), "--kind", "all", "--num-tasks", "5", "--out", str(out))
    code, _, err = run(capsys, *argv, "--no-held-out")
    assert (code, err) == (0, "")
    records = StoredInstances(out).records()
    kinds = {dict(record.details)["kind"].replace(" ", "-") for record in records.values()}
    assert kinds == set(LARGER)
    trials = [json.loads(line) for line in (out / TRIALS).read_text().splitlines()]
    assert {trial["task"] for trial in trials} == set(LARGER)
    solve(out)


@needs_box
@pytest.mark.slow
def test_a_kind_that_reaches_two_files_gets_held_out_questions(tmp_path, capsys):
    library, out = make_two_modules(tmp_path / "prices"), tmp_path / "out"
    argv = ("swe", "build", str(library), "--kind", "moved-function", "--num-tasks", "1")
    assert run(capsys, *argv, "--out", str(out))[0] == 0
    [record] = StoredInstances(out).records().values()
    env = SWEEnv(data=out)
    env.reset(seed=0)
    assert env.session.instance.id == record.id and env.session.instance.held_out is not None
    env.close()
    solve(out)


def test_releases_are_built_apart_from_other_kinds(tmp_path, capsys):
    argv = ("swe", "build", ".", "--kind", "versions", "two-faults", "--out", str(tmp_path / "o"))
    code, _, err = run(capsys, *argv)
    assert code == 2 and "expected --kind versions alone" in err
