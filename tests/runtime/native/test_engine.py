"""Compiled objects on disk: found again, never trusted blindly, never in the way."""

import errno
import gc
import hashlib
import logging
import subprocess
import sys
import threading

import pytest

pytest.importorskip("llvmlite")

from chainwright.runtime.background import BACKGROUND
from chainwright.runtime.native import disk
from chainwright.runtime.native import engine as module
from chainwright.runtime.native.disk import cache_folder
from chainwright.runtime.native.engine import Engine

TEXT = """define i64 @{name}(i64 %x) {{
  %y = add i64 %x, 1
  ret i64 %y
}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    assert BACKGROUND.wait(60)  # what other tests have compiled goes to their folder
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(disk, "_complained", False)
    return tmp_path / "chainwright"


def call(engine, name="plus_one", x=41):
    import ctypes

    address = engine.function(name, lambda: TEXT.format(name=name))
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(x)


def test_a_second_engine_compiles_nothing(folder):
    first, second = Engine(), Engine()
    assert call(first) == call(second) == 42
    assert (first.compiled, first.loaded) == (1, 0)
    assert (second.compiled, second.loaded) == (0, 1)
    assert len(list(folder.glob("*.o"))) == 1 and not list(folder.glob("*.part"))


def test_code_stays_when_its_engine_is_gone(folder):
    import ctypes

    engine = Engine()
    address = engine.function("plus_one", lambda: TEXT.format(name="plus_one"))
    del engine
    gc.collect()
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(1) == 2


def test_a_text_is_compiled_once(folder):
    engine = Engine()
    assert call(engine) == call(engine) == 42 and engine.compiled == 1


def test_a_handler_may_compile_in_the_middle(folder):
    """One of signals, or a callback of the collector, in the same thread."""
    import ctypes

    engine, found = Engine(), []

    def text():
        found.append(call(engine, "of_the_handler"))
        return TEXT.format(name="interrupted")

    def ask():
        address = engine.function("interrupted", text)
        found.append(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(1))

    # Of a thread of its own, so that one that waits for itself ends this test.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(20)
    assert found == [42, 2] and engine.compiled == 2


@pytest.mark.parametrize("damage", [b"", b"\x00" * 10, b"cut", None])
def test_a_damaged_file_is_replaced(folder, damage, caplog):
    call(Engine())
    (path,) = folder.glob("*.o")
    whole = path.read_bytes()
    path.write_bytes(whole[:-7] if damage is None else damage)
    engine = Engine()
    with caplog.at_level(logging.INFO, "chainwright"):
        assert call(engine) == 42 and engine.compiled == 1
    assert len(caplog.records) == (1 if damage != b"" else 0)
    assert path.read_bytes()[:32] != b"" and call(Engine()) == 42
    last = Engine()
    assert call(last) == 42 and last.loaded == 1


@pytest.mark.parametrize("what", ["another object", "no object"])
def test_a_foreign_file_is_replaced(folder, what, caplog):
    """A whole file under the right name that is something else."""
    call(Engine())
    (path,) = folder.glob("*.o")
    whole = path.read_bytes()
    path.unlink()
    if what == "another object":
        call(Engine(), "plus_another")
        (other,) = folder.glob("*.o")
        path.write_bytes(other.read_bytes())
    else:
        body = b"a text that somebody has put here"
        path.write_bytes(hashlib.sha256(body).digest() + body)
    engine = Engine()
    with caplog.at_level(logging.INFO, "chainwright"):
        assert call(engine) == 42 and engine.compiled == 1
    assert len(caplog.records) == 1 and "foreign file" in caplog.text
    assert path.read_bytes() == whole


def test_a_full_disk_is_said_once(folder, caplog, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(disk.os, "fdopen", full)
    with caplog.at_level(logging.INFO, "chainwright"):
        engine = Engine()
        assert call(engine) == 42 and call(engine, "plus_another") == 42
    assert len(caplog.records) == 1 and "No space left" in caplog.text
    assert list(folder.iterdir()) == []  # nothing half written


def test_a_folder_that_may_only_be_read_serves(folder, caplog, monkeypatch):
    call(Engine())

    def refused(*args, **kwargs):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(disk.tempfile, "mkstemp", refused)
    engine = Engine()
    with caplog.at_level(logging.INFO, "chainwright"):
        assert call(engine) == 42 and (engine.compiled, engine.loaded) == (0, 1)
        assert not caplog.records
        assert call(engine, "plus_another") == 42
    assert len(caplog.records) == 1 and "Permission denied" in caplog.text


def test_a_folder_that_cannot_be_written_is_said_once(folder, caplog):
    folder.parent.joinpath("chainwright").write_text("a file where the folder should be")
    with caplog.at_level(logging.INFO, "chainwright"):
        engine = Engine()
        assert call(engine) == 42 and call(engine, "plus_another") == 42
    assert len(caplog.records) == 1 and "not kept on disk" in caplog.text


def test_the_folder_is_bounded(folder, monkeypatch):
    monkeypatch.setattr(disk, "LIMIT", 3000)
    engine = Engine()
    for k in range(12):
        assert call(engine, f"plus_{k}") == 42
    sizes = [path.stat().st_size for path in folder.iterdir()]
    assert 0 < len(sizes) < 12 and sum(sizes) <= 3000


def test_many_processes_at_once(folder):
    code = (
        "import ctypes\n"
        "from chainwright.runtime.native.engine import Engine\n"
        f"text = {TEXT.format(name='plus_one')!r}\n"
        "engine = Engine()\n"
        "address = engine.function('plus_one', lambda: text)\n"
        "print(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(41))\n"
    )
    make = [sys.executable, "-c", code]
    running = [subprocess.Popen(make, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [p.communicate()[0].strip() for p in running] == ["42"] * 3
    assert sorted(path.suffix for path in folder.iterdir()) == [".facts", ".o"]


def test_a_symbol_that_is_missing_is_found_before_the_call(folder):
    text = "declare i64 @no_such_function(i64)\n" + TEXT.format(name="calls").replace(
        "%y = add i64 %x, 1", "%y = call i64 @no_such_function(i64 %x)"
    )
    with pytest.raises(RuntimeError, match="no_such_function"):
        Engine().function("calls", lambda: text)


def test_llvm_is_not_loaded_for_what_comes_from_disk(folder):
    call(Engine())
    code = (
        "import sys\n"
        "from chainwright.runtime.native.engine import Engine\n"
        f"Engine().function('plus_one', lambda: {TEXT.format(name='plus_one')!r})\n"
        "assert 'llvmlite' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("damage", [b"", b"damaged", None])
def test_what_llvm_has_said_of_the_processor(folder, damage, monkeypatch):
    first = Engine()
    (path,) = folder.glob("*.facts")
    whole = path.read_bytes()
    if damage is None:
        monkeypatch.setattr(disk, "processor", lambda: ["another processor"])
    else:
        path.write_bytes(damage)
    assert Engine()._facts == first._facts and len(first._facts) == 5
    assert path.read_bytes() == whole
    assert len(list(folder.glob("*.facts"))) == (2 if damage is None else 1)
    monkeypatch.setattr(disk, "processor", lambda: None)
    assert Engine()._facts == first._facts


def test_one_linker_serves_all_objects_and_none_after_an_error(folder, monkeypatch):
    monkeypatch.setattr(module, "placed", lambda data: None)
    engine = Engine()
    assert [call(engine, f"plus_{k}") for k in range(20)] == [42] * 20
    linker = engine._linker

    def fails():
        raise RuntimeError("no memory")

    monkeypatch.setattr(linker, "finalize_object", fails)
    with pytest.raises(RuntimeError, match="no memory"):
        call(engine, "not_there")
    assert call(engine, "not_there") == call(engine, "plus_0") == call(engine, "behind") == 42
    assert engine._linker is not linker


def test_no_home_no_folder(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(disk.Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert cache_folder() is None
    assert call(Engine()) == 42
