"""What tests of rules have found is kept on disk, as long as all that it depends on is the same."""

import errno
import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from chainwright.runtime.background import BACKGROUND
from chainwright.runtime.native import answers as module
from chainwright.runtime.native import disk, native_target
from chainwright.runtime.native.answers import Answers
from chainwright.runtime.native.machine import NumpyMachine

TARGET = native_target()
pytestmark = pytest.mark.skipif(TARGET is None, reason="there is no native code here")
F = np.dtype("f")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    assert BACKGROUND.wait(60)  # what other tests have compiled goes to their folder
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(disk, "_complained", False)
    if disk.processor() is None:
        pytest.skip("nothing is known of this processor")
    return tmp_path / "chainwright"


def machine():
    return NumpyMachine(TARGET.linker, Answers())


def counted(monkeypatch):
    asked = []
    for name in ("_loop_holds", "_arithmetic_holds"):
        real = getattr(NumpyMachine, name)
        monkeypatch.setattr(
            NumpyMachine, name, lambda self, *a, real=real: asked.append(a) or real(self, *a))
    return asked


def test_a_rule_is_tested_once_on_a_machine(folder, monkeypatch):
    # What answers depend on is another test's: a thread of an earlier one may load a library now.
    facts = module._facts()
    assert facts is not None
    monkeypatch.setattr(module, "_facts", lambda: facts)
    asked = counted(monkeypatch)
    first = machine()
    assert first.loop(np.tanh, (F, F)) and first.arithmetic("add", "f32")
    assert not first.arithmetic("no_such_op", "f32")
    assert len(asked) == 3
    later = machine()
    assert later.loop(np.tanh, (F, F)) and later.arithmetic("add", "f32")
    assert not later.arithmetic("no_such_op", "f32")
    assert len(asked) == 3
    assert later.arithmetic("add", "f64") and len(asked) == 4
    assert len(list(folder.glob("*.rules"))) == 1


def test_without_answers_nothing_is_kept(folder, monkeypatch):
    asked = counted(monkeypatch)
    for _ in range(2):
        assert NumpyMachine(TARGET.linker).arithmetic("add", "f32")
    assert len(asked) == 2 and not folder.exists()


def test_a_rule_that_does_not_hold_is_logged_in_each_process(caplog):
    for _ in range(2):
        fresh = machine()
        with caplog.at_level(logging.INFO, "chainwright"):
            assert not fresh.arithmetic("no_such_op", "f32")
            assert not fresh.arithmetic("no_such_op", "f32")
    assert caplog.text.count("NumPy has other bits") == 2


def test_functions_of_the_same_name_as_those_of_numpy(monkeypatch):
    """Of a ufunc that somebody else has made, the name says nothing."""
    asked, own = [], np.frompyfunc(lambda x: x, 1, 1)
    monkeypatch.setattr(
        NumpyMachine, "_loop_holds", lambda self, *a: asked.append(a) or a[0] is not own)
    for _ in range(2):
        assert machine().loop(np.tanh, (F, F)) and not machine().loop(own, (F, F))
    assert [f for f, _ in asked] == [np.tanh, own, own]


@pytest.mark.parametrize("change", ["processor", "variable", "NumPy", "a library", "our code"])
def test_answers_of_something_else_do_not_count(change, monkeypatch, tmp_path):
    Answers().add(("add", "f32"), True)
    assert Answers().get(("add", "f32"))
    if change == "processor":
        monkeypatch.setattr(disk, "processor", lambda: ["another processor"])
    elif change == "variable":
        monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", "AVX2")
    elif change == "NumPy":
        monkeypatch.setattr(np, "__version__", "9.9")
    else:
        mine = tmp_path / "libblas.py"
        mine.write_text("old")
        monkeypatch.setattr(
            module, "_libraries" if change == "a library" else "_code", lambda: [mine])
        assert Answers().get(("add", "f32")) is None
        Answers().add(("add", "f32"), True)
        assert Answers().get(("add", "f32"))
        mine.write_text("newer")
    assert Answers().get(("add", "f32")) is None


def test_what_answers_depend_on_is_found():
    names = [path.name for path in module._libraries()]
    assert any("_multiarray_umath" in name for name in names)
    code = {path.name for path in module._code()}
    assert {"machine.py", "kernel.py", "llvm.py"} <= code


@pytest.mark.parametrize("missing", ["processor", "libraries"])
def test_where_it_is_not_known_answers_stay_in_the_process(missing, folder, monkeypatch):
    def unreadable():
        raise PermissionError(errno.EACCES, "Permission denied")

    if missing == "processor":
        monkeypatch.setattr(disk, "processor", lambda: None)
    else:
        monkeypatch.setattr(module, "_libraries", unreadable)
    answers = Answers()
    answers.add(("add", "f32"), True)
    assert answers.get(("add", "f32")) and Answers().get(("add", "f32")) is None
    assert not folder.exists()


@pytest.mark.parametrize("damage", ["cut", "changed", "foreign", "binary"])
def test_a_line_that_is_not_whole_is_not_there(folder, damage):
    first = Answers()
    first.add(("add", "f32"), True)
    first.add(("multiply", "f32"), False)
    (path,) = folder.glob("*.rules")
    one, two = [line + "\n" for line in path.read_text().split("\n") if line]
    text = {
        "cut": one + two[:-9],
        "changed": one + two.replace(" 0 ", " 1 "),
        "foreign": one + "1 ('multiply', 'f32')\n",
    }.get(damage, one)
    path.write_bytes(text.encode() + (b"\xff\x00\n" if damage == "binary" else b""))
    again = Answers()
    assert again.get(("add", "f32")) is True and again.get(("multiply", "f32")) is None
    again.add(("multiply", "f32"), False)
    assert Answers().get(("multiply", "f32")) is False


def test_the_file_is_bounded(folder, monkeypatch):
    monkeypatch.setattr(disk, "LINES", 1000)
    answers = Answers()
    for k in range(100):
        answers.add((f"op{k}", "f32"), True)
    (path,) = folder.glob("*.rules")
    assert 1000 <= path.stat().st_size < 1100
    assert path in [file for _, _, file in disk.cached_files()]


def test_a_folder_that_cannot_be_written_is_said_once(folder, caplog):
    folder.write_text("a file where the folder should be")
    with caplog.at_level(logging.INFO, "chainwright"):
        answers = Answers()
        answers.add(("add", "f32"), True)
        answers.add(("add", "f64"), True)
    assert answers.get(("add", "f64")) and len(caplog.records) == 1


def test_many_processes_at_once(folder):
    code = (
        "from chainwright.runtime.native.answers import Answers\n"
        "answers = Answers()\n"
        "for k in range(200):\n"
        "    answers.add((f'op{k}', 'f32'), True)\n"
    )
    run = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [process.wait() for process in run] == [0] * 3
    answers = Answers()
    assert all(answers.get((f"op{k}", "f32")) for k in range(200))


def test_the_blas_of_another_package_does_not_matter(monkeypatch):
    maps = Path("/proc/self/maps").read_bytes()
    ours = list(module._libraries())
    place = b"7f00-7f01 r-xp 0 00:00 1   "
    other = place + b"/env/lib/python3.11/site-packages/scipy.libs/libopenblas.so\n"
    other += place + b"/home/\xff/a.so\n"  # no text in any encoding
    system = place + b"/usr/lib/libblas.so.3\n"
    monkeypatch.setattr(Path, "read_bytes", lambda self: maps + other)
    assert list(module._libraries()) == ours
    monkeypatch.setattr(Path, "read_bytes", lambda self: maps + other + system)
    assert set(module._libraries()) - set(ours) == {Path("/usr/lib/libblas.so.3")}
