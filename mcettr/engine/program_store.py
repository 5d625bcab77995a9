"""Compiled programs on disk: where they are kept, and how they are written, found again and thrown away.

A file is believed only if this user owns it and the folder it is in, nobody else can write to that folder, its checksum
is right and it was made for the very key that is asked for. Anything else is as good as no file: the program is
compiled again.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "MCETTR_CACHE"
"""Environment variable: ``off``, or the folder to keep programs in."""

MOST_BYTES = 256 * 2**20
"""Room for all programs (one takes 0.1 to 1 MB); those not used for longest are thrown away."""

_MAGIC = b"mcettr program 1\n"
_ENDING, _PART = ".program", ".part"
_ABANDONED_S = 3_600.0
"""Age at which a file that was never finished is thrown away."""


@dataclass(frozen=True)
class Store:
    """A folder of compiled programs, or the reason why there is none.

    Parameters
    ----------
    folder : Path or None
        Where the programs are.
    trouble : str or None
        Why nothing can be kept although the user did not switch it off.
    """

    folder: Path | None
    trouble: str | None = None

    def read(self, key: str) -> bytes | None:
        """Return the content that was written for the key, or None."""
        if self.folder is None:
            return None
        path = self._path(key)
        try:
            with path.open("rb") as stream:
                if not _is_ours(os.fstat(stream.fileno())):
                    return None
                content = _unpacked(stream.read(), key)
            if content is not None:
                os.utime(path)
        except OSError:
            return None
        return content

    def write(self, key: str, content: bytes) -> None:
        """Keep the content under the key, whole or not at all, and throw away what there is no room for."""
        if self.folder is None:
            return
        try:
            handle, name = tempfile.mkstemp(suffix=_PART, dir=self.folder)
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(_packed(content, key))
                os.replace(name, self._path(key))
            except BaseException:
                os.unlink(name)
                raise
            self._make_room()
        except OSError:  # a full disk, or another process that tidies up: the program is compiled again next time
            return

    def n_bytes(self) -> int:
        """Return the size of all programs in bytes."""
        return sum(size for _, size, _ in self._files())

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / (hashlib.sha256(key.encode()).hexdigest()[:40] + _ENDING)

    def _files(self) -> list[tuple[float, int, Path]]:
        found = []
        for path in self.folder.iterdir() if self.folder is not None and self.folder.is_dir() else ():
            if path.suffix in (_ENDING, _PART):
                try:
                    status = path.stat()
                except FileNotFoundError:
                    continue
                found.append((status.st_mtime, status.st_size, path))
        return found

    def _make_room(self) -> None:
        files, room = sorted(self._files(), reverse=True), MOST_BYTES
        for used, size, path in files:
            abandoned = path.suffix == _PART and used < time.time() - _ABANDONED_S
            if path.suffix == _ENDING:
                room -= size
            if abandoned or room < 0:
                path.unlink(missing_ok=True)


def open_store() -> Store:
    """Return the store that the environment names: ``$MCETTR_CACHE``, or a folder in the user's cache folder."""
    wanted = os.environ.get(VARIABLE, "").strip()
    if wanted.lower() == "off":
        return Store(None)
    if not hasattr(os, "getuid"):
        return Store(None, "compiled programs are not kept on this system")
    try:
        folder = Path(wanted).absolute() if wanted else _default_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        if not _is_ours(status):
            return Store(None, _not_kept(folder, "others can write to it; take a folder of your own"))
        if not os.access(folder, os.W_OK | os.X_OK):
            return Store(None, _not_kept(folder, "it cannot be written to"))
    except (OSError, RuntimeError, ValueError) as error:
        reason = error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
        return Store(None, _not_kept(wanted or "the cache folder of your home", reason))
    return Store(folder)


def _not_kept(folder: object, reason: str) -> str:
    return f"compiled programs are not kept, so every start compiles anew: {folder}: {reason} ({VARIABLE}=DIR or off)"


def _default_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "mcettr"


def _is_ours(status: os.stat_result) -> bool:
    """Return whether nobody but this user can have written it: what is loaded is run."""
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _packed(content: bytes, key: str) -> bytes:
    body = hashlib.sha256(key.encode()).digest() + zlib.compress(content, 1)
    return _MAGIC + hashlib.sha256(body).digest() + body


def _unpacked(data: bytes, key: str) -> bytes | None:
    begin, length = len(_MAGIC), hashlib.sha256().digest_size
    body = data[begin + length :]
    if not data.startswith(_MAGIC) or data[begin : begin + length] != hashlib.sha256(body).digest():
        return None
    if body[:length] != hashlib.sha256(key.encode()).digest():
        return None
    return zlib.decompress(body[length:])
