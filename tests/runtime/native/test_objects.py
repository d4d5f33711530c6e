"""Objects in memory without LLVM: the same functions, or none where something is unknown."""

import ctypes
import struct
import sys

import pytest

pytest.importorskip("llvmlite")

from chainwright.runtime.native import disk, objects
from chainwright.runtime.native.engine import Engine
from chainwright.runtime.native.objects import placed, symbols

linux = pytest.mark.skipif(
    sys.platform != "linux" or Engine()._facts[0].split("-")[0] != "x86_64",
    reason="objects of other systems and processors are left to LLVM",
)
pytestmark = linux

TEXTS = {
    "constants": """
@table = private constant [4 x i64] [i64 3, i64 5, i64 7, i64 9]
define i64 @f(i64 %x) {
  %at = getelementptr [4 x i64], ptr @table, i64 0, i64 %x
  %y = load i64, ptr %at
  ret i64 %y
}""",
    "numbers": """
define i64 @f(i64 %x) {
  %a = sitofp i64 %x to double
  %b = fmul double %a, 2.5
  %y = fptosi double %b to i64
  ret i64 %y
}""",
    "another function": """
define internal i64 @hidden(i64 %x) noinline {
  %y = mul i64 %x, %x
  ret i64 %y
}
define i64 @f(i64 %x) {
  %y = call i64 @hidden(i64 %x)
  %z = call i64 @g(i64 %y)
  ret i64 %z
}
define i64 @g(i64 %x) noinline {
  %y = sub i64 %x, 7
  ret i64 %y
}""",
    "a function of the C library": """
declare i64 @labs(i64)
define i64 @f(i64 %x) {
  %y = sub i64 2, %x
  %z = call i64 @labs(i64 %y)
  ret i64 %z
}""",
}
WRITES = """
@count = internal global i64 0
define i64 @f(i64 %x) {
  %a = load i64, ptr @count
  %y = add i64 %a, %x
  store i64 %y, ptr @count
  ret i64 %y
}"""
LACKS = TEXTS["a function of the C library"].replace("@labs", "@no_such_function")


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = Engine()
    return lambda text: made._compiled(text, made._machine())


def results(address):
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)
    return [function(x) for x in range(4)]


@pytest.mark.parametrize("name", TEXTS)
def test_functions_are_those_of_llvm(name, compiled):
    data = compiled(TEXTS[name])
    found = placed(data)
    by_llvm = Engine()._linked_by_llvm(data, list(found), [])
    assert found.keys() == by_llvm.keys() == set(symbols(data)[0])
    assert results(found["f"]) == results(by_llvm["f"])


def test_names(compiled):
    assert symbols(compiled(TEXTS["another function"])) == (["f", "g"], [])
    assert symbols(compiled(LACKS)) == (["f"], ["no_such_function"])


@pytest.mark.parametrize("text", [WRITES, LACKS], ids=["writes", "lacks a function"])
def test_what_is_left_to_llvm(text, compiled):
    assert placed(compiled(text)) is None


def test_other_processors_and_relocations_are_left_to_llvm(compiled, monkeypatch):
    data = bytearray(compiled(TEXTS["constants"]))
    monkeypatch.setattr(objects, "_ABSOLUTE", 99)
    assert placed(bytes(data)) is None
    monkeypatch.undo()
    assert placed(bytes(data)) is not None
    struct.pack_into("<H", data, 18, 183)
    assert placed(bytes(data)) is None


@pytest.mark.parametrize("what", ["mmap", "mprotect"])
def test_a_system_that_allows_no_code_is_left_to_llvm(what, compiled, monkeypatch):
    libc = objects._libc()

    class Refuses:
        def __getattr__(self, name):
            if name == what:
                return lambda *args: ctypes.c_void_p(-1).value if what == "mmap" else -1
            return getattr(libc, name)

    data = compiled(TEXTS["constants"])
    monkeypatch.setattr(objects, "_libc", Refuses)
    assert placed(data) is None
    address = Engine()._linked(data, ["f"])["f"]
    assert results(address) == [3, 5, 7, 9]


def test_a_part_of_an_object_is_none(compiled):
    data = compiled(TEXTS["constants"])
    for end in range(len(objects.MAGIC), len(data)):
        with pytest.raises(ValueError):
            placed(data[:end])


def test_an_engine_says_so(compiled):
    data = compiled(TEXTS["constants"])
    for end in (4, 40, 64, len(data) - 1):
        with pytest.raises(RuntimeError):
            Engine()._linked(data[:end], ["f"])
    assert disk.cached_files()
