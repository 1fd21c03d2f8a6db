"""Configurations and their sections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from inifold.convert import to_bool, to_int, to_list, to_size
from inifold.errors import MissingKey, ValueFormatError
from inifold.interpolation import interpolate
from inifold.reader import RawSection, read_sections

T = TypeVar("T")


class Config:
    """The sections of a configuration.

    Args:
        sections: The raw sections by name; ``Config.from_text`` reads them from a text.
    """

    def __init__(self, sections: dict[str, RawSection] | None = None) -> None:
        self._sections = sections or {}

    @classmethod
    def from_text(cls, text: str) -> Config:
        """Read a configuration; ParseError if the text is none."""
        return cls(read_sections(text))

    def __getitem__(self, name: str) -> Section:
        """Return a section; MissingKey if there is none of this name."""
        self._raw(name)
        return Section(self, name)

    def __contains__(self, name: object) -> bool:
        """Say whether there is a section of this name."""
        return name in self._sections

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the sections in the order of the text."""
        return iter(self._sections)

    def set(self, section: str, key: str, value: str) -> None:
        """Set a raw value; a section that is not there yet is made."""
        raw = self._sections.setdefault(section, RawSection(section))
        raw.values[key.lower()] = value

    def ancestry(self, name: str) -> list[str]:
        """Return a section's name, its parent's, and so on up to the one without a parent."""
        names = [name]
        while parent := self._raw(names[-1]).parent:
            names.append(parent)
        return names

    def raw(self, section: str, key: str) -> str:
        """Return a value before interpolation, from the section or from what it inherits."""
        for name in self.ancestry(section):
            values = self._sections[name].values
            if key.lower() in values:
                return values[key.lower()]
        raise MissingKey(f"[{section}] has no value {key!r}")

    def to_text(self) -> str:
        """Write the configuration in its canonical form: what each section itself says."""
        blocks = []
        for raw in self._sections.values():
            header = f"[{raw.name} : {raw.parent}]" if raw.parent else f"[{raw.name}]"
            lines = [header]
            for key, value in raw.values.items():
                lines.append(f"{key} = {value}".rstrip().replace("\n", "\n    "))
            blocks.append("\n".join(lines) + "\n")
        return "\n".join(blocks)

    def _raw(self, name: str) -> RawSection:
        """Return a raw section."""
        if name not in self._sections:
            raise MissingKey(f"there is no section [{name}]")
        return self._sections[name]


class Section:
    """One section, seen together with what it inherits.

    Args:
        config: The configuration.
        name: The name of the section.
    """

    def __init__(self, config: Config, name: str) -> None:
        self.config = config
        self.name = name

    def keys(self) -> list[str]:
        """Return all keys: the ones of the eldest ancestor first, each once."""
        found: dict[str, None] = {}
        for name in reversed(self.config.ancestry(self.name)):
            found.update(dict.fromkeys(self.config._raw(name).values))
        return list(found)

    def __contains__(self, key: str) -> bool:
        """Say whether the section has or inherits a value."""
        return key.lower() in self.keys()

    def get(self, key: str, default: str | None = None) -> str:
        """Return a value with its references replaced.

        Args:
            key: The key, in any case.
            default: What stands for a missing value; without it a missing value is an error.

        Returns:
            The value.

        Raises:
            MissingKey: The value, or one that it refers to, is not there.
        """
        if default is not None and key not in self:
            return default
        return interpolate(self.name, key.lower(), self.config.raw)

    def get_int(self, key: str, default: int | None = None) -> int:
        """Return a whole number."""
        return self._converted(key, to_int, default)

    def get_float(self, key: str, default: float | None = None) -> float:
        """Return a number."""
        return self._converted(key, float, default)

    def get_bool(self, key: str, default: bool | None = None) -> bool:
        """Return a truth value: true, yes, on, 1 or false, no, off, 0."""
        return self._converted(key, to_bool, default)

    def get_size(self, key: str, default: int | None = None) -> int:
        """Return a number of bytes, given as ``512``, ``64k``, ``1.5M``."""
        return self._converted(key, to_size, default)

    def get_list(self, key: str, default: list[str] | None = None) -> list[str]:
        """Return the items of a value, which commas or lines separate."""
        return self._converted(key, to_list, default)

    def as_dict(self) -> dict[str, str]:
        """Return all values with their references replaced."""
        return {key: self.get(key) for key in self.keys()}

    def _converted(self, key: str, convert: Callable[[str], T], default: T | None) -> T:
        """Return a value in another type, or the default if it is missing."""
        if default is not None and key not in self:
            return default
        text = self.get(key)
        try:
            return convert(text)
        except ValueError as error:
            raise ValueFormatError(f"[{self.name}] {key} = {text!r}: {error}") from error
