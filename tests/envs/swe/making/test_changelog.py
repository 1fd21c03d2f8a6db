"""Changelogs of the forms that libraries keep."""

from __future__ import annotations

import pytest

from agentgym.envs.swe.making.changelog import entries

MARKDOWN = """# Changelog
## [1.2.0] - 2024-01-02
### Fixed
- Fix parsing of empty tables. ([#12](https://x/12))
- Accept `None` as a
  default value everywhere.
* no

## [1.1.0]
- Older things that do not matter.
"""
RST = """History
=======

1.2.0 (2024-01-02)
------------------

- Added :func:`~lib.take`, which takes so many items.
- Removed ``old`` for good (thanks @somebody)

1.1.0
-----
- Older things.
"""
README = """# lib
**Version history**:

- 1.2.0 Added support for strict parsing of dates (and days)
- 1.1.0 Older things that do not matter
"""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "CHANGELOG.md",
            MARKDOWN,
            ["Fix parsing of empty tables.", "Accept `None` as a default value everywhere."],
        ),
        (
            "docs/HISTORY.rst",
            RST,
            ["Added lib.take, which takes so many items.", "Removed `old` for good"],
        ),
        ("README.md", README, ["Added support for strict parsing of dates (and days)"]),
        ("CHANGES", "Nothing of the kind.", []),
        ("notes.md", MARKDOWN, []),
    ],
)
def test_entries(tmp_path, name, text, expected):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    assert entries(tmp_path, "1.2.0") == expected
    assert entries(tmp_path, "1.2") == []
