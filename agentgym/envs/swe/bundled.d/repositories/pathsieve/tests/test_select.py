"""Paths, trees and choosing files."""

import pytest
from pathsieve import IgnoreRules, Tree, normalize, parents, relative, sift

FILES = ["src/b.py", "src/sub/c.py", "a.txt", "src/a.py", "out/x.py"]


@pytest.mark.parametrize(
    ("path", "normal"),
    [("./a//b/", "a/b"), ("a/../b", "b"), ("a\\b", "a/b"), (".", ""), ("/a", "a"), ("a/b/..", "a")],
)
def test_normalize(path, normal):
    """A normal path has no points, doubled slashes or slashes at its ends."""
    assert normalize(path) == normal


@pytest.mark.parametrize("path", ["..", "a/../../b"])
def test_path_out_of_the_root(path):
    """A path that leads out of the root is refused."""
    with pytest.raises(ValueError, match=r"leads out of the root"):
        normalize(path)


def test_parents():
    """The parents of a path are the folders above it, outermost first."""
    assert (parents("a/b/c"), parents("a")) == (["a", "a/b"], [])


def test_relative():
    """A path in a folder can be rewritten as seen from it, others cannot."""
    assert [relative(path, "a") for path in ("a/b/c", "ab/c", "a")] == ["b/c", None, None]


def test_relative_to_the_root():
    """Seen from the root a path stays as it is."""
    assert relative("a/b", "") == "a/b"


def test_sift_sorts_and_drops_doubles():
    """Chosen files are sorted, and each is there only once."""
    assert sift(["b", "./a", "b", "a"]) == ["a", "b"]


def test_sift_include_by_name():
    """A pattern without a slash includes files by their name in any folder."""
    assert sift(FILES, include=["[ab].*"]) == ["a.txt", "src/a.py", "src/b.py"]


def test_sift_include_by_path():
    """A pattern with a slash includes files by their whole path."""
    assert sift(FILES, include=["src/*.py"]) == ["src/a.py", "src/b.py"]


def test_sift_several_patterns():
    """A file is included if it matches any of the patterns."""
    assert sift(FILES, include=["*.txt", "out/**"]) == ["a.txt", "out/x.py"]


def test_sift_exclude():
    """Excluded files are left out even if they are included."""
    assert sift(FILES, include=["*.py"], exclude=["/out/", "a.*"]) == ["src/b.py", "src/sub/c.py"]


def test_children_of_the_root():
    """The children of the root are its folders and then its files."""
    assert Tree(FILES).children() == ["out/", "src/", "a.txt"]


def test_children_of_a_folder():
    """The children of a folder are what lies directly in it."""
    assert Tree(FILES).children("src") == ["sub/", "a.py", "b.py"]


def test_folders():
    """A tree knows all folders of its files."""
    assert Tree(FILES).folders == ["out", "src", "src/sub"]


def test_tree_glob():
    """A tree lists the files that match a pattern."""
    assert Tree(FILES).glob("src/**/?.py") == ["src/a.py", "src/b.py", "src/sub/c.py"]


def test_walk():
    """A walk goes through folders first and leaves out what is ignored."""
    assert list(Tree(FILES).walk(IgnoreRules("out/\nb.py"))) == [
        "src/sub/c.py",
        "src/a.py",
        "a.txt",
    ]
