"""Puts compiled objects into memory, without LLVM.

LLVM takes 45 MiB, and time to be imported. Where all code comes from disk it is not needed: the
objects are ELF files of which the sections are copied, and the addresses in them filled in. What
takes more than that is left to LLVM.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import struct
import sys
from typing import Any, NamedTuple

MAGIC = b"\x7fELF\x02\x01"  # of 64 bits, the low byte first
_X86_64 = 62
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_CODE_OR_CONSTANTS, _SYMBOLS, _RELOCATIONS, _OTHER_RELOCATIONS = 1, 2, 4, 9  # types of sections
_WRITABLE, _ALLOCATED = 0x1, 0x2
#: Flags of sections that are copied: allocated, code, constants that may be merged, far away.
_KNOWN_FLAGS = _ALLOCATED | 0x4 | 0x10 | 0x20 | 0x10000000
_ABSOLUTE = 1  # the kind of relocation that the large code model has: an address of 64 bits
_LOCAL = 0


class _Section(NamedTuple):
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


class _Symbol(NamedTuple):
    name: str
    binding: int
    section: int
    value: int


class _Object:
    """What an object says of itself. Raises :class:`ValueError` where it contradicts itself."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        try:
            self.machine = int.from_bytes(data[18:20], "little")
            (table,) = struct.unpack_from("<Q", data, 40)
            size, count = struct.unpack_from("<HH", data, 58)
            if size != _SECTION.size:
                raise ValueError("sections of another size")
            at = range(table, table + count * size, size)
            self.sections = [_Section(*_SECTION.unpack_from(data, k)) for k in at]
            self.symbols: list[_Symbol] = []
            for section in self.sections:
                if section.type == _SYMBOLS:
                    self.symbols += self._symbols_of(section)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise ValueError(f"this is no whole object: {error}") from error

    def _symbols_of(self, table: _Section) -> list[_Symbol]:
        names, found = self.sections[table.link].offset, []
        for entry in _SYMBOL.iter_unpack(self.bytes_of(table)):
            name, info, _, section, value, _ = entry
            end = self.data.index(b"\0", names + name)
            text = self.data[names + name : end].decode()
            found.append(_Symbol(text, info >> 4, section, value))
        return found

    def bytes_of(self, section: _Section) -> bytes:
        data = self.data[section.offset : section.offset + section.size]
        if len(data) < section.size:
            raise ValueError("a section goes on behind the end")
        return data


def symbols(data: bytes) -> tuple[list[str], list[str]]:
    """The names that an object offers to others, and those that it asks for.

    Raises:
        ValueError: It is no such object.
    """
    found = [s for s in _Object(data).symbols if s.name and s.binding != _LOCAL]
    return [s.name for s in found if s.section], [s.name for s in found if not s.section]


def placed(data: bytes) -> dict[str, int] | None:
    """Copy an object into memory for good; the addresses of what it offers, by name.

    None, and nothing was done, where it takes more than is known here: another processor or system,
    memory that code writes to, addresses of other kinds, functions that this process lacks.

    Raises:
        ValueError: It is no such object.
    """
    found = _Object(data)
    if sys.platform != "linux" or found.machine != _X86_64:
        return None
    starts, size = {}, 0
    for k, section in enumerate(found.sections):
        if not section.flags & _ALLOCATED or not section.size or _unwinds(found, section):
            continue
        if section.type != _CODE_OR_CONSTANTS or section.flags & ~_KNOWN_FLAGS:
            return None
        size = -(-size // section.align) * section.align if section.align else size
        starts[k], size = size, size + section.size
    if any(s.align > mmap.PAGESIZE for s in found.sections):
        return None
    base = _mapped(size)
    if base is None:
        return None
    image = bytearray(size)
    for k, start in starts.items():
        section = found.sections[k]
        image[start : start + section.size] = found.bytes_of(section)
    if not _relocate(found, image, starts, base) or not _becomes_code(base, bytes(image)):
        _libc().munmap(base, size)
        return None
    return {
        s.name: base + starts[s.section] + s.value
        for s in found.symbols
        if s.name and s.binding != _LOCAL and s.section in starts
    }


def _unwinds(found: _Object, section: _Section) -> bool:
    """Whether a section serves exceptions of C++, which compiled code does not have."""
    names = found.sections[int.from_bytes(found.data[62:64], "little")].offset + section.name
    return found.data[names : found.data.index(b"\0", names)] == b".eh_frame"


def _relocate(found: _Object, image: bytearray, starts: dict[int, int], base: int) -> bool:
    """Fill in the addresses of an image; whether all are known."""
    for section in found.sections:
        if section.info not in starts:
            continue
        if section.type == _OTHER_RELOCATIONS:
            return False
        if section.type != _RELOCATIONS:
            continue
        table = found._symbols_of(found.sections[section.link])
        for at, info, addend in _RELOCATION.iter_unpack(found.bytes_of(section)):
            symbol = table[info >> 32]
            if info & 0xFFFFFFFF != _ABSOLUTE:
                return False
            if symbol.section in starts:
                target = base + starts[symbol.section] + symbol.value
            else:
                target = 0 if symbol.section else _address(symbol.name)
            if not target or at + 8 > found.sections[section.info].size:
                return False
            struct.pack_into("<Q", image, starts[section.info] + at, target + addend)
    return True


def _address(name: str) -> int:
    """The address of a function of this process; 0 if there is none."""
    function = getattr(_libc(), name, None) if name else None
    return (ctypes.cast(function, ctypes.c_void_p).value or 0) if function is not None else 0


@functools.cache
def _libc() -> Any:
    libc = ctypes.CDLL(None)
    where, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    libc.mmap.restype = where
    libc.mmap.argtypes = where, size, number, number, number, ctypes.c_long
    libc.munmap.argtypes = where, size
    libc.mprotect.argtypes = where, size, number
    return libc


def _mapped(size: int) -> int | None:
    """New memory: nobody unmaps it, since threads may run in it to the very end."""
    kind, access = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE
    base = _libc().mmap(None, max(size, 1), access, kind, -1, 0)
    return None if base in (None, ctypes.c_void_p(-1).value) else base


def _becomes_code(base: int, image: bytes) -> bool:
    """Whether the system lets an image be code, which nobody can write to any more."""
    ctypes.memmove(base, image, len(image))
    access = mmap.PROT_READ | mmap.PROT_EXEC
    return _libc().mprotect(base, max(len(image), 1), access) == 0
