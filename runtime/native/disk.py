"""What is kept on disk between processes: compiled code, and what is known of this machine.

Nothing there is trusted blindly: files carry a digest of what is in them. What cannot be read is
made again, and what cannot be written is done without.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

logger = logging.getLogger("chainwright")

LIMIT = 64 << 20  # bytes of files on disk
LINES = 1 << 20  # bytes of a file that grows by lines
_KINDS = ".o", ".part", ".facts", ".rules"


def processor() -> list[str] | None:
    """Lines that name this processor; None where nothing is known."""
    try:
        first, _, _ = Path("/proc/cpuinfo").read_text("utf-8").partition("\n\n")
    except OSError:
        return None
    wanted = "vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU "
    return [line for line in first.splitlines() if line.startswith(wanted)]


def version_of(path: Path) -> str:
    """A line that changes when a file does. Raises :class:`OSError` if it is not there."""
    facts = path.stat()
    return f"{path} {facts.st_size} {facts.st_mtime_ns}"


def path_of(lines: Iterable[str], suffix: str) -> Path | None:
    """Where something is kept that holds as long as these lines stay the same."""
    folder = cache_folder()
    if folder is None:
        return None
    text = chr(0).join(lines).encode(errors="surrogateescape")
    return folder / f"{hashlib.sha256(text).hexdigest()}{suffix}"


def cache_folder() -> Path | None:
    """``$XDG_CACHE_HOME/chainwright``; None where there is no home either."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "chainwright"
    except RuntimeError:
        return None


def read(path: Path | None) -> bytes | None:
    """An object from disk; None if there is none, or a damaged one."""
    try:
        data = path.read_bytes() if path else b""
    except OSError:
        return None
    digest, body = data[:32], data[32:]
    if not body or hashlib.sha256(body).digest() != digest:
        if data:
            logger.info("a damaged file in the cache of compiled code is replaced: %s", path)
        return None
    return body


def write(path: Path | None, data: bytes) -> None:
    """Keep an object; other processes see a whole file or none."""
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _make_room(path.parent, len(data))
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        _complain(error)


def read_lines(path: Path | None) -> list[str]:
    """The whole lines of a file that :func:`add_line` has written to, without others."""
    try:
        text = path.read_bytes().decode(errors="replace") if path else ""
    except OSError:
        return []
    found = [line.partition(" ") for line in text.splitlines()]
    return [line for digest, _, line in found if digest == _digest(line)]


def add_line(path: Path | None, line: str) -> None:
    """Add a line to a file, which several processes may do at once; no more than ``LINES``."""
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab", buffering=0) as file:
            if file.tell() < LINES:
                # What comes before may be a part of a line, from a process that was stopped.
                file.write(f"\n{_digest(line)} {line}\n".encode())
    except OSError as error:
        _complain(error)


def _digest(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()[:16]


def _complain(error: OSError) -> None:
    global _complained
    if not _complained:
        logger.info("compiled code is not kept on disk: %s", error)
        _complained = True


_complained = False


_room: dict[Path, int] = {}
"""How many bytes may be added to a folder before its files are counted again."""


def _make_room(folder: Path, size: int) -> None:
    """Drop the files that were made first, as soon as there are too many bytes.

    Counting means to ask for the size of thousands of files. So a count serves for as long as
    there is room for certain, and for a sixteenth of ``LIMIT`` at most: other processes write too.
    """
    room = _room.get(folder, 0)
    if room < size:
        known = _files(folder)
        total = sum(n for _, n, _ in known) + size
        for _, n, path in known:
            if total <= LIMIT:
                break
            path.unlink(missing_ok=True)
            total -= n
        room = size + min(LIMIT - total, LIMIT // 16)
    _room[folder] = room - size


def _files(folder: Path) -> list[tuple[float, int, Path]]:
    """When each file was made, its size and path; the oldest first."""
    known = []
    for path in folder.iterdir():
        if path.suffix not in _KINDS:
            continue
        try:
            facts = path.stat()
        except OSError:
            continue  # another process was quicker
        known.append((facts.st_mtime, facts.st_size, path))
    return sorted(known)


def cached_files() -> list[tuple[float, int, Path]]:
    """The files of compiled code: when each was made, its size and path; the oldest first."""
    folder = cache_folder()
    return _files(folder) if folder is not None and folder.is_dir() else []
