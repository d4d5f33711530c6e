"""From the text of C++ to functions that can be called: the compiler, and what it has made."""
import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(HERE, 'cudasim')
FLAGS = ['-std=c++17', '-O1', '-fPIC', '-shared', '-w', '-ffp-contract=off', '-fno-strict-aliasing']
CACHE = os.environ.get('CUDASIM_CACHE') or os.path.join(
    tempfile.gettempdir(), f'cudasim-{os.getuid()}')


@functools.cache
def compiler():
    """The C++ compiler; None where there is none that will do."""
    if platform.machine() != 'x86_64':
        return None  # the switch between fibers is written for it
    return next(filter(None, map(shutil.which, ('g++', 'clang++', 'c++'))), None)


@functools.cache
def _headers():
    names = sorted(os.listdir(INCLUDE))
    return b''.join(open(os.path.join(INCLUDE, name), 'rb').read() for name in names)


@functools.cache
def _precompiled():
    """A folder with the header precompiled, which takes most of the time of a small kernel."""
    command = [compiler() or 'g++', *FLAGS]
    folder = os.path.join(CACHE, hashlib.sha1(repr(command).encode() + _headers()).hexdigest())
    made = os.path.join(folder, 'cudasim.h.gch')
    if not os.path.exists(made):
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            new = os.path.join(place, 'made.gch')
            subprocess.run([*[f for f in command if f != '-shared'], '-x', 'c++-header',
                            os.path.join(INCLUDE, 'cudasim.h'), '-o', new], check=True)
            os.replace(new, made)
    return folder


class CompileError(Exception):
    """Text that is no program; the message is the compiler's."""


def library(text, flags=()):
    """The shared library of a C++ text."""
    command = [compiler() or 'g++', *FLAGS, *flags]
    digest = hashlib.sha1(repr(command).encode() + _headers() + text.encode()).hexdigest()
    os.makedirs(CACHE, exist_ok=True)
    path = os.path.join(CACHE, digest + '.so')
    if not os.path.exists(path):
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            source, made = os.path.join(folder, 'k.cc'), os.path.join(folder, 'k.so')
            with open(source, 'w') as file:
                file.write(text)
            folders = ['-I', _precompiled(), '-I', INCLUDE]
            done = subprocess.run(
                [*command, *folders, source, '-o', made], capture_output=True, text=True)
            if done.returncode:
                raise CompileError(done.stderr)
            os.replace(made, path)
    return ctypes.CDLL(path)
