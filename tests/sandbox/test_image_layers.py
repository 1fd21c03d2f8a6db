"""Layers of images, odd and hostile: what lands where, and what is refused."""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.errors import DataError
from agentgym.sandbox.images.layers import OPAQUE, Layers, is_opaque, is_whiteout
from agentgym.sandbox.images.store import ImageStore
from agentgym.sandbox.images.unpacking import Bounds
from tests.sandbox.layouts import Fill, digest, entry, folder, layer, write_layout

LINK, HARD, BLOCK = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.BLKTYPE
SMALL = Bounds(size=8 << 20, files=500, layers=20)


def load(tmp_path: Path, *fills: Fill) -> Path:
    """Load an image of layers, and return the folder of its highest."""
    image = write_layout(tmp_path / "layout", [layer(fill) for fill in fills])
    return ImageStore(tmp_path / "store", bounds=SMALL).load(image, "a/b:1").layers[-1]


def listed(root: Path) -> set[str]:
    """Return what lies in a folder."""
    return {str(path.relative_to(root)) for path in root.rglob("*")}


def out(name: str) -> str:
    """Return a relative path from an image to a folder of the host."""
    return f"{'../' * 20}{name}"


def bomb(archive: tarfile.TarFile) -> None:
    """Add a file that packs well."""
    entry(archive, "zeros", bytes(16 << 20))


def many_files(archive: tarfile.TarFile) -> None:
    """Add more files than may be."""
    for number in range(600):
        entry(archive, f"f{number}")


def long_records(archive: tarfile.TarFile) -> None:
    """Add a PAX header of megabytes."""
    member = tarfile.TarInfo("f")
    member.pax_headers = {"comment": "x" * (2 << 20)}
    archive.addfile(member)


def below_a_file(archive: tarfile.TarFile) -> None:
    """Add a file, and one in it."""
    entry(archive, "f", b"1")
    entry(archive, "f/g", b"2")


def circle(archive: tarfile.TarFile) -> None:
    """Add links that lead to each other, and a file behind them."""
    entry(archive, "x", kind=LINK, link="y")
    entry(archive, "y", kind=LINK, link="x")
    entry(archive, "x/f", b"1")


REFUSED: dict[str, tuple[Fill, str]] = {
    "two dots": (lambda a: entry(a, out("tmp/canary"), b"x"), "names that stay in the image"),
    "whiteout outside": (lambda a: entry(a, "../.wh.x"), "names that stay in the image"),
    "hard link out": (lambda a: entry(a, "h", kind=HARD, link=out("f")), "names that stay"),
    "hard link to nothing": (lambda a: entry(a, "h", kind=HARD, link="no"), "to lead to a file"),
    "hard link to itself": (lambda a: entry(a, "h", kind=HARD, link="h"), "to lead to a file"),
    "hard link to the root": (lambda a: entry(a, "h", kind=HARD, link="/"), "to lead to a file"),
    "links in a circle": (circle, "at most 40 links"),
    "below a file": (below_a_file, "got a file"),
    "bomb": (bomb, "got more"),
    "many files": (many_files, "got more"),
    "long records": (long_records, "a header of at most"),
    "long name": (lambda a: entry(a, "n" * 5000), "names of at most"),
    "deep": (lambda a: entry(a, "d/" * 3000 + "f"), "names of at most"),
    "unknown kind": (lambda a: entry(a, "u", kind=b"Z"), "unknown type"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(REFUSED))
def test_a_hostile_layer_is_refused_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    fill, words = REFUSED[name]
    with pytest.raises(DataError, match=words):
        load(tmp_path, fill)
    assert list((tmp_path / "store" / "layers").iterdir()) == []
    assert list((tmp_path / "store" / "images").iterdir()) == []


def header(change: Callable[[bytearray], None]) -> bytes:
    """Return an archive of one header that is not what it says."""
    data = bytearray(tarfile.TarInfo("x").tobuf(tarfile.GNU_FORMAT))
    change(data)
    data[148:156] = b"%06o\0 " % tarfile.calc_chksums(bytes(data))[0]  # type: ignore[attr-defined]
    return bytes(data) + bytes(1024)


def negative(data: bytearray) -> None:
    """Say that the size is -1 (CVE-2025-8194)."""
    data[124:136] = b"\xff" * 12


def huge_records(data: bytearray) -> None:
    """Say that the records of a PAX header take 8 GiB."""
    data[124:136] = b"%011o\0" % (8 << 30)
    data[156:157] = tarfile.XHDTYPE


def sparse(data: bytearray) -> None:
    """Say that a file has 4 GiB, all of them holes."""
    data[156:157] = tarfile.GNUTYPE_SPARSE
    data[386:398] = data[398:410] = b"%011o\0" % 0
    data[483:495] = b"%011o\0" % (4 << 30)


@pytest.mark.parametrize("change", [negative, huge_records, sparse])
def test_a_header_that_lies_about_its_size_is_refused(
    tmp_path: Path, change: Callable[[bytearray], None]
) -> None:
    image = write_layout(tmp_path / "layout", [header(change)])
    with pytest.raises(DataError, match=r"a header of at most|got more|can be read"):
        ImageStore(tmp_path / "store", bounds=SMALL).load(image, "a/b:1")
    assert list((tmp_path / "store" / "layers").iterdir()) == []


@pytest.mark.parametrize("spoil", ["flipped", "cut", "zstd", "other layer"])
def test_bytes_that_are_not_those_of_the_digest_are_refused(tmp_path: Path, spoil: str) -> None:
    data = layer(lambda archive: entry(archive, "f", os.urandom(3000)))
    other_blob = layer(lambda archive: entry(archive, "f", b"other"))
    packed = {
        "cut": lambda plain: gzip_of(plain)[:-40],
        "zstd": lambda plain: b"\x28\xb5\x2f\xfd" + plain,
        "other layer": lambda plain: gzip_of(other_blob),
        "flipped": gzip_of,
    }[spoil]
    image = write_layout(tmp_path / "layout", [data], packed=packed)
    if spoil == "flipped":
        blob = image / "blobs" / "sha256" / digest(gzip_of(data)).removeprefix("sha256:")
        content = bytearray(blob.read_bytes())
        content[len(content) // 2] ^= 1
        blob.write_bytes(content)
    words = {"zstd": "zstd", "cut": "truncated", "other layer": "with content"}
    with pytest.raises(DataError, match=words.get(spoil, "layer")):
        ImageStore(tmp_path / "store").load(image, "a/b:1")
    assert list((tmp_path / "store" / "layers").iterdir()) == []


@pytest.mark.parametrize("header_bytes", [1, 100, 511])
@pytest.mark.parametrize("packed", [True, False])
def test_a_layer_that_is_cut_in_a_header_is_refused(
    tmp_path: Path, header_bytes: int, packed: bool
) -> None:
    """Its digests are those of what is left, as whoever made the image wrote them."""
    data = layer(lambda archive: [entry(archive, name, b"x" * 600) for name in "abc"])
    cut = data[: 2 * 1536 + header_bytes]
    image = write_layout(tmp_path / "layout", [cut], packed=gzip_of if packed else bytes)
    with pytest.raises(DataError, match="cut in a header"):
        ImageStore(tmp_path / "store").load(image, "a/b:1")
    assert list((tmp_path / "store" / "layers").iterdir()) == []


@pytest.mark.parametrize("more", [b"", b"\0" * 100, b"junk"])
def test_a_layer_may_have_no_end_or_something_behind_it(tmp_path: Path, more: bytes) -> None:
    data = layer(lambda archive: [entry(archive, name, b"x" * 600) for name in "ab"])
    content = data[: 2 * 1536] + (b"\0" * 1024 + more if more else b"")
    image = write_layout(tmp_path / "layout", [content])
    ImageStore(tmp_path / "store").load(image, "a/b:1")
    (unpacked,) = (tmp_path / "store" / "layers").iterdir()
    assert sorted(path.name for path in (unpacked / "fs").iterdir()) == ["a", "b"]


def gzip_of(data: bytes) -> bytes:
    """Pack bytes as a layer is."""
    import gzip

    return gzip.compress(data, 1, mtime=0)


def test_names_land_inside_of_the_image_wherever_they_lead(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    canary.write_text("untouched")

    def fill(archive: tarfile.TarFile) -> None:
        entry(archive, str(canary), b"absolute")
        entry(archive, "away", kind=LINK, link=str(tmp_path))
        entry(archive, "up", kind=LINK, link=out(str(tmp_path)))
        entry(archive, "away/canary", b"through a link")
        entry(archive, "up/canary2", b"through another")
        entry(archive, "soft", kind=LINK, link=str(canary))
        entry(archive, "hard", kind=HARD, link="soft")
        entry(archive, "hard", b"in place of the link")
        entry(archive, "place", kind=LINK, link=str(tmp_path))
        folder(archive, "place/")
        entry(archive, "place/canary", b"in a folder")

    root = load(tmp_path, fill)
    inside = root / str(tmp_path).lstrip("/")
    assert (inside / "canary").read_bytes() == b"through a link"
    assert (inside / "canary2").read_bytes() == b"through another"
    assert (root / "hard").read_bytes() == b"in place of the link" and not (
        root / "hard"
    ).is_symlink()
    assert (root / "place" / "canary").read_bytes() == b"in a folder"
    assert canary.read_text() == "untouched" and not (tmp_path / "canary2").exists()


def base(archive: tarfile.TarFile) -> None:
    """Fill a layer that others change."""
    entry(archive, "etc/passwd", b"root")
    entry(archive, "gone/old", b"1")
    entry(archive, "emptied/old", b"1")
    entry(archive, "lib", kind=LINK, link="usr/lib")
    folder(archive, "usr/lib/", 0o711)
    entry(archive, "usr/lib/one", b"1")


def test_whiteouts_are_kept_as_overlayfs_wants_them(tmp_path: Path) -> None:
    def fill(archive: tarfile.TarFile) -> None:
        entry(archive, "etc/.wh.passwd")
        entry(archive, ".wh.gone")
        folder(archive, "gone/")  # a folder of the same name hides the old one
        entry(archive, "gone/new", b"1")
        folder(archive, "emptied/")
        entry(archive, "emptied/.wh..wh..opq")
        entry(archive, ".wh..wh.aufs")
        entry(archive, ".wh..")

    root = load(tmp_path, base, fill)
    assert is_whiteout(str(root / "etc" / "passwd"))
    assert is_opaque(str(root / "gone")) and is_opaque(str(root / "emptied"))
    assert listed(root) == {"etc", "etc/passwd", "gone", "gone/new", "emptied"}
    below = [path for path in root.parents[1].iterdir() if path != root.parent]
    layers = Layers([root, below[0] / "fs"])
    assert layers.read("etc/passwd", 99) == b"" and layers.read("gone/old", 99) == b""
    assert layers.read("gone/new", 99) == b"1" and layers.read("lib/one", 99) == b"1"


def test_layers_are_unpacked_with_those_below_in_view(tmp_path: Path) -> None:
    def fill(archive: tarfile.TarFile) -> None:
        entry(archive, "lib/two", b"2")  # through a link of the layer below
        entry(archive, "hard", kind=HARD, link="usr/lib/one")

    root = load(tmp_path, base, fill)
    assert listed(root) == {"usr", "usr/lib", "usr/lib/two", "hard"}
    assert stat.S_IMODE((root / "usr" / "lib").stat().st_mode) == 0o711
    assert (root / "hard").read_bytes() == b"1"


def test_what_a_box_cannot_have_is_left_out_and_counted(tmp_path: Path) -> None:
    def fill(archive: tarfile.TarFile) -> None:
        entry(archive, "sda", kind=BLOCK, mode=0o666, major=8)
        entry(archive, "null", kind=tarfile.CHRTYPE, mode=0o666, major=1)
        entry(archive, "root", b"", mode=0o4755)
        entry(archive, "theirs", b"", uid=4_000_000)
        entry(archive, "closed", b"secret", mode=0)
        folder(archive, "locked/", 0)
        entry(archive, "locked/in", b"1")

    store = ImageStore(tmp_path / "store")
    image = store.load(write_layout(tmp_path / "l", [layer(fill)]), "a/b:1")
    root = image.layers[0]
    assert listed(root) == {"root", "theirs", "closed", "locked", "locked/in"}
    assert not any(path.lstat().st_mode & 0o6000 for path in root.rglob("*"))
    assert {path.lstat().st_uid for path in root.rglob("*")} == {os.getuid()}
    entry_ = store._entry(root.parent.name)
    assert entry_ is not None
    assert (entry_["devices"], entry_["set_ids"], entry_["owned"]) == (2, 1, 1)


NAMES = st.lists(st.sampled_from(["a", "b", "..", ".", "", ".wh.a", ".wh..wh..opq"]), max_size=5)
MEMBERS = st.lists(
    st.tuples(NAMES, st.sampled_from([tarfile.REGTYPE, tarfile.DIRTYPE, LINK, HARD]), NAMES),
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(MEMBERS, MEMBERS)
def test_no_layer_writes_outside_whatever_its_members_are_called(
    tmp_path_factory: pytest.TempPathFactory, first: list[object], second: list[object]
) -> None:
    scratch = tmp_path_factory.mktemp("layers")

    def fill(members: list[tuple[list[str], bytes, list[str]]], archive: tarfile.TarFile) -> None:
        for name, kind, link in members:
            entry(archive, "/".join(name) or "x", b"", kind=kind, link="/".join(link))

    fills: list[Fill] = [partial(fill, members) for members in (first, second)]  # type: ignore[arg-type]
    with suppress(DataError):
        load(scratch, *fills)
    assert sorted(os.listdir(scratch)) == ["layout", "store"]
    assert set(os.listdir(scratch / "store")) <= {"layers", "images", ".lock"}


def test_opaque_is_what_the_kernel_reads(tmp_path: Path) -> None:
    root = load(tmp_path, base, lambda archive: entry(archive, "gone/.wh..wh..opq"))
    assert os.getxattr(root / "gone", OPAQUE) == b"y"
