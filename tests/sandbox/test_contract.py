"""What every sandbox does, whatever keeps it apart from the host."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from agentgym.errors import ConfigurationError, NotSupported
from agentgym.sandbox.base import ENVIRONMENT, Sandbox, SandboxConfig, SandboxDied, SandboxLimits
from agentgym.sandbox.registry import open_sandbox
from tests.sandbox.conftest import IMAGE, OpenBox


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_command_gives_its_output_and_exit_code(box: Sandbox) -> None:
    result = box.exec("echo out; echo err >&2; exit 3")
    assert (result.exit_code, result.text) == (3, "out\nerr\n")
    assert (result.truncated, result.timed_out, result.flooded, result.killed) == (0, 0, 0, 0)
    assert result.seconds > 0


def test_the_exit_code_of_a_killed_command_is_its_signal(box: Sandbox) -> None:
    assert box.exec("kill -KILL $$").exit_code == -9


def test_a_shell_that_does_not_parse_says_so(box: Sandbox) -> None:
    result = box.exec("if (")
    assert result.exit_code not in (0, 126) and "syntax" in result.text.lower()


@pytest.mark.parametrize("command", ["echo \0", "echo " + "x" * 300_000])
def test_a_command_that_cannot_be_started_is_a_result(box: Sandbox, command: str) -> None:
    result = box.exec(command)
    assert result.exit_code == 126 and "cannot run the command" in result.text
    assert box.exec("echo on").text == "on\n"


def test_standard_input_is_empty(box: Sandbox) -> None:
    assert box.exec("cat; echo end").text == "end\n"


def test_bash_runs_commands(box: Sandbox) -> None:
    assert box.exec("a=(1 2 3); echo ${a[1]}").text == "2\n"


def test_a_shell_remembers_nothing_but_files(box: Sandbox) -> None:
    box.exec("export A=1; echo kept > file; cd /")
    assert box.exec("echo ${A:-unset}; cat file").text == "unset\nkept\n"


def test_commands_run_in_workdir_or_where_asked(box: Sandbox) -> None:
    assert "a.py" in box.exec("ls").text
    assert box.exec("ls", cwd="pkg").text == "c.py\n"
    missing = box.exec("true", cwd="missing")
    assert missing.exit_code == 126 and "missing" in missing.text


def test_variables_are_the_fixed_ones_and_the_configured_ones(open_box: OpenBox) -> None:
    box = open_box(environment={"A": "1", "TZ": "Europe/Berlin"}, path=("/first",))
    variables = dict(
        line.split("=", 1) for line in box.exec("env", env={"B": "2 ä"}).text.splitlines()
    )
    assert {**ENVIRONMENT, "TZ": "Europe/Berlin", "A": "1", "B": "2 ä"}.items() <= variables.items()
    assert variables["PATH"].startswith("/first:")
    assert box.exec('test -d "$HOME" && touch "$HOME/file"').exit_code == 0
    assert "B" not in box.exec("env | cut -d= -f1").text.split()


def test_the_running_python_can_be_used(box: Sandbox) -> None:
    assert box.exec("python3 -c 'import json, ctypes, tarfile; print(6 * 7)'").text == "42\n"


def test_output_that_is_no_text_comes_as_it_is(box: Sandbox) -> None:
    result = box.exec(r"printf '\xff\x00no newline'")
    assert result.output == b"\xff\x00no newline"
    assert result.text == "\ufffd\x00no newline"


def test_of_long_output_both_ends_are_kept(open_box: OpenBox) -> None:
    box = open_box(limits=SandboxLimits(kept_output=1000))
    result = box.exec("seq 10000")
    lines = result.text.splitlines()
    assert (lines[0], lines[-1]) == ("1", "10000")
    assert 1000 < len(result.output) < 1100
    assert f"{result.truncated} bytes left out" in result.text
    assert result.truncated == sum(len(f"{n}\n") for n in range(1, 10001)) - 1000
    assert not result.flooded


def test_a_command_that_prints_too_much_is_killed(open_box: OpenBox) -> None:
    result = open_box(limits=SandboxLimits(output=1 << 20)).exec("yes")
    assert result.flooded and not result.timed_out
    assert result.exit_code < 0 and result.output.startswith(b"y\ny\n")


def test_a_command_that_takes_too_long_is_killed_with_what_it_printed(box: Sandbox) -> None:
    result = box.exec("echo before; sleep 1000; echo after", timeout=1.0)
    assert result.timed_out and result.exit_code < 0 and result.text == "before\n"
    assert box.exec("echo on").text == "on\n"


def test_what_a_command_leaves_behind_is_killed_at_once(box: Sandbox) -> None:
    result = box.exec("sleep 1000 & sleep 1000 & echo done", timeout=300.0)
    assert (result.text, result.exit_code, result.timed_out) == ("done\n", 0, False)
    assert result.killed == 2


def test_files_are_written_and_read(box: Sandbox) -> None:
    box.write("new/er/file", b"\x00\xff content", 0o755)
    assert box.read("new/er/file") == b"\x00\xff content"
    assert box.read("new/er/file", 3) == b"\x00\xff "
    assert box.exec("stat -c %a new/er/file").text == "755\n"
    box.write("new/er/file", b"short")
    assert box.read(f"{box.config.workdir}/new/er/file") == b"short"
    assert box.exec("stat -c %a new/er/file").text == "644\n"
    assert box.read("link.py") == b"x = 1\n"


def test_a_large_file_is_written_and_read(box: Sandbox) -> None:
    data = bytes(range(256)) * (12 << 10)
    box.write("large", data)
    assert box.read("large", 1 << 23) == data


@pytest.mark.parametrize("path", ["missing", "pkg", "pipe", "/dev/zero", "", "a.py/b", "x" * 5000])
def test_only_regular_files_are_read(box: Sandbox, path: str) -> None:
    box.exec("mkfifo pipe")
    with pytest.raises(FileNotFoundError):
        box.read(path)
    assert box.exec("echo on").text == "on\n"


@pytest.mark.parametrize("path", ["pkg", "pipe", "a.py/b", "x" * 5000, "nul\0"])
def test_what_cannot_be_written_is_an_error(box: Sandbox, path: str) -> None:
    box.exec("mkfifo pipe")
    with pytest.raises(OSError):
        box.write(path, b"")
    assert box.exec("echo on").text == "on\n"


def test_changes_are_what_differs_from_the_tree(box: Sandbox) -> None:
    assert box.changes() == {}
    box.exec("echo x = 2 > a.py; rm -r pkg; mkdir -p new; echo n > 'new/ä b'; touch b.py")
    box.exec("ln -s /etc/passwd link; mkfifo pipe; echo ref > .git/HEAD; mkdir empty; rm link.py")
    assert box.changes() == {"a.py": b"x = 2\n", "new/ä b": b"n\n", "pkg/c.py": None}


def test_changes_see_a_file_whose_time_was_put_back(box: Sandbox) -> None:
    box.exec("touch -r a.py stamp; echo x = 3 > a.py; touch -r stamp a.py; rm stamp")
    assert box.changes() == {"a.py": b"x = 3\n"}


def test_changes_see_a_file_that_became_something_else(box: Sandbox) -> None:
    box.exec("rm a.py b.py; mkdir a.py; ln -s /etc/passwd b.py; echo 1 > a.py/inner")
    assert box.changes() == {"a.py": None, "b.py": None, "a.py/inner": b"1\n"}


def test_changes_hold_every_name_of_a_file(box: Sandbox) -> None:
    box.exec("echo x = 2 > a.py; ln a.py one.py; ln a.py two.py")
    assert box.changes() == dict.fromkeys(("a.py", "one.py", "two.py"), b"x = 2\n")


def test_changes_are_not_compared_with_what_links_of_the_tree_lead_to(
    open_box: OpenBox, tree: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "d.py").write_text("secret\n")
    (tree / "away").symlink_to(outside)
    box = open_box(tree=tree)
    box.exec("rm away; mkdir away; echo secret > away/d.py; rm link.py; echo 'x = 1' > link.py")
    assert box.changes() == {"away/d.py": b"secret\n", "link.py": b"x = 1\n"}


def test_changes_hold_what_the_box_made_unreadable(box: Sandbox) -> None:
    box.exec("echo 1 > closed; chmod 000 closed; mkdir d; echo 2 > d/f; chmod 000 d")
    assert box.changes() == {"closed": b"1\n", "d/f": b"2\n"}


def test_the_tree_itself_stays_as_it_is(box: Sandbox, tree: Path) -> None:
    content_before = content(tree)
    box.exec("echo x = 2 > a.py; rm -rf pkg .git; chmod 777 b.py; touch new; rm run.sh")
    box.write("b.py", b"")
    assert content(tree) == content_before
    assert stat.S_IMODE(os.stat(tree / "b.py").st_mode) != 0o777
    assert os.access(tree / "run.sh", os.X_OK)


def test_reset_returns_to_the_beginning(box: Sandbox) -> None:
    box.exec("echo x = 2 > a.py; rm b.py; touch new; echo h > $HOME/h")
    box.reset()
    listed = box.exec("ls -A . $HOME; cat a.py").text.split()
    assert {"a.py", "b.py", "pkg"} <= set(listed) and not {"new", "h"} & set(listed)
    assert "1" in listed and "2" not in listed
    assert box.changes() == {}


def test_a_snapshot_holds_everything_that_was_written(box: Sandbox) -> None:
    if "snapshot" not in box.capabilities:
        with pytest.raises(NotSupported):
            box.snapshot()
        return
    box.exec("echo x = 2 > a.py; rm b.py; rm -r pkg; mkdir -p d/e; ln -s a.py l; chmod 700 run.sh")
    box.exec("echo 1 > f; ln f hard; echo h > $HOME/h; echo ref > .git/HEAD; mkfifo pipe")
    show = "ls -lAR . | sed 's/ [A-Z][a-z][a-z] .*:.. / /; /^total/d'; cat a.py $HOME/h .git/*"
    listing, changes = box.exec(show).text, box.changes()
    assert "prw" in listing and " hard" in listing
    state = box.snapshot()
    box.exec("rm -rf * $HOME/h; touch later")
    box.restore(state)
    assert box.exec(show).text == listing
    assert box.changes() == changes
    assert box.exec("echo 2 > f; cat hard").text == "2\n"


def test_a_snapshot_of_one_box_can_be_restored_in_another(open_box: OpenBox, tree: Path) -> None:
    first, other_box = open_box(tree=tree), open_box(tree=tree)
    if "snapshot" not in first.capabilities:
        pytest.skip("it takes no snapshots")
    first.exec("echo x = 2 > a.py; rm b.py")
    other_box.exec("touch stray")
    other_box.restore(first.snapshot())
    assert other_box.changes() == {"a.py": b"x = 2\n", "b.py": None}


def test_without_a_tree_the_folder_is_empty(open_box: OpenBox) -> None:
    box = open_box()
    assert box.exec("ls -A").text == ""
    box.write("new", b"1")
    assert box.changes() == {"new": b"1"}


def test_starting_and_closing_twice_change_nothing(box: Sandbox) -> None:
    box.exec("touch new")
    assert box.start() is box
    assert box.changes() == {"new": b""}
    box.close()
    box.close()


def test_a_closed_box_says_so_and_can_be_reset(box: Sandbox) -> None:
    box.close()
    with pytest.raises(SandboxDied, match="start or reset"):
        box.exec("true")
    box.reset()
    assert box.exec("echo on").text == "on\n"


def test_a_context_starts_and_closes(box: Sandbox) -> None:
    with box as entered:
        assert entered is box and entered.exec("echo on").text == "on\n"
    with pytest.raises(SandboxDied):
        box.exec("true")


def test_a_tree_that_is_no_folder_is_refused(open_box: OpenBox, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="folder"):
        open_box(tree=tmp_path / "missing")


@pytest.mark.parametrize("workdir", ["testbed", "/../../tmp/x", "/a/../b", "/a/", ""])
def test_a_workdir_that_may_lie_elsewhere_is_refused(workdir: str) -> None:
    with pytest.raises(ConfigurationError, match="workdir"):
        SandboxConfig(workdir=workdir)


def test_an_option_that_the_back_end_does_not_have_is_refused(backend: str) -> None:
    with pytest.raises(ConfigurationError, match="nonsense"):
        name = "namespace" if backend == IMAGE else backend
        open_sandbox(SandboxConfig(trusted=True), name, nonsense=1)
