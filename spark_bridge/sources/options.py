"""The options of a data source: text that users wrote, checked before anything is done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

import penstock
from penstock.gen.errors import DataError, listed, nearest
from penstock.gen.schema import Schema

MOST_DIGITS = 18


class Options:
    """The options by name, whatever their case; DataError on the first that is not known."""

    def __init__(self, given: Mapping[str, str], known: Sequence[str], source: str) -> None:
        self._source = source
        self._given = {name.lower(): value for name, value in given.items()}
        if "provider" in self._given and "location" in self._given:
            raise DataError(
                "a table of the catalog would lose its options: Spark does not hand them on when "
                "it is read\nhint: CREATE TEMPORARY VIEW ... USING takes the same options"
            )
        for name in self._given:
            if name not in known:
                raise DataError(
                    f"format {source!r} has no option {name!r}\nhint: {nearest(name, known)}"
                )

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def text(self, name: str) -> str | None:
        return self._given.get(name)

    def choice(self, name: str, choices: Iterable[str], default: str) -> str:
        """One of some words."""
        value, known = self._given.get(name, default).lower(), list(choices)
        if value not in known:
            raise DataError(f"option {name!r} is {value!r}\nhint: {nearest(value, known)}")
        return value

    def whole(self, name: str, default: int, *, least: int, most: int = 10**MOST_DIGITS) -> int:
        """A whole number within bounds."""
        value = self._given.get(name)
        if value is None:
            return default
        plain = value.strip().removeprefix("-")
        if not (plain.isascii() and plain.isdigit() and len(plain) <= MOST_DIGITS):
            raise DataError(f"option {name!r} is a whole number, not {value!r}")
        if not least <= int(value) <= most:
            raise DataError(f"option {name!r} is from {least} to {most}, not {value}")
        return int(value)

    def path(self, name: str = "path") -> Path | None:
        value = self._given.get(name)
        return None if value is None else local_path(value)

    def needed_path(self) -> Path:
        """What was given to load or save."""
        path = self.path()
        if path is None:
            raise DataError(
                f"format {self._source!r} needs a path: load(path), save(path), or in SQL "
                "OPTIONS (path '...')"
            )
        return path

    def schema(self) -> Schema | None:
        """The stream that an option ``schema`` names: a file's path, or the statement itself."""
        value = self._given.get("schema")
        if value is None:
            return None
        if value.lstrip().upper().startswith("CREATE"):
            return penstock.parse_schema(value, "option 'schema'")
        return penstock.load_schema(local_path(value))


def local_path(text: str) -> Path:
    """A path on this machine, absolute: workers may have another working folder."""
    parts = urlsplit(text)
    if parts.scheme == "file" and not parts.netloc:
        return Path(unquote(parts.path)).absolute()
    if "://" in text:
        raise DataError(
            f"{text!r} is no path of a file system\n"
            "hint: penstock reads and writes folders that driver and workers can see as files"
        )
    if not text:
        raise DataError("the path is empty")
    return Path(text).absolute()


def refuse(options: Options, names: Iterable[str], why: str) -> None:
    """DataError if an option is given where it would mean nothing."""
    found = [name for name in names if name in options]
    if found:
        raise DataError(f"option {listed(found)} {why}")
