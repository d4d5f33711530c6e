"""Compile every kernel that the tests of ``tests/cuda`` make, for real GPUs, without one.

The texts of all CUDA programs of the tests, which run here on the simulated device, go through
NVRTC to machine code for each architecture. Needs no GPU, but an environment with NVRTC beside
that of the tests:

    .ci/cuda                                     # makes build/nvrtc, and checks
    python benchmarks/check_cuda.py --write      # benchmarks/results/cuda_kernels.md

Fails if a text does not compile, or if a kernel keeps values outside of registers (spills).
``--functions`` compares instead the machine code of each function that kernels use, with and
without contraction of products and sums: where it differs, kernels would have other bits than CuPy,
which contracts. There are none; those that differ are left to CuPy.
"""
import argparse
import ctypes
import glob
import json
import os
import re
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
TABLE = os.path.join(HERE, 'results', 'cuda_kernels.md')
ADDED = ('-ftz=true',)  # by CuPy, to the options of a module
_KERNEL = re.compile(
    r"entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes "
    r'spill loads.*?Used (\d+) registers', re.S)


class NvrtcError(Exception):
    """The message of the compiler."""


class Nvrtc:
    """NVRTC by its C interface."""

    def __init__(self, folder):
        found = glob.glob(os.path.join(
            folder, 'lib', 'python3*', 'site-packages', 'nvidia', 'cu13'))
        if not found:
            raise SystemExit(f'there is no NVRTC in {folder}; see the text of this script')
        libraries = os.path.join(found[0], 'lib')
        for path in glob.glob(os.path.join(libraries, 'libnvrtc-builtins.so.*')):
            ctypes.CDLL(path, ctypes.RTLD_GLOBAL)  # NVRTC asks for it by its name alone
        (library,) = glob.glob(os.path.join(libraries, 'libnvrtc.so.*[0-9]'))
        self.lib = ctypes.CDLL(library)
        self.include = os.path.join(found[0], 'include')
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.lib.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = f'{major.value}.{minor.value}'

    def compile(self, text, arch, options):
        """The log of ``ptxas``, and the machine code."""
        program = ctypes.c_void_p()
        self.lib.nvrtcCreateProgram(
            ctypes.byref(program), text.encode(), b'kernels.cu', 0, None, None)
        try:
            flags = [f'-arch={arch}', *options, f'-I{self.include}', '--ptxas-options=-v']
            raw = (ctypes.c_char_p * len(flags))(*(flag.encode() for flag in flags))
            failed = self.lib.nvrtcCompileProgram(program, len(flags), raw)
            log = self._read(program, 'ProgramLog').rstrip(b'\0').decode()
            if failed:
                raise NvrtcError(log)
            return log, self._read(program, 'CUBIN') if arch[:3] == 'sm_' else self._read(
                program, 'PTX')
        finally:
            self.lib.nvrtcDestroyProgram(ctypes.byref(program))

    def _read(self, program, what):
        size = ctypes.c_size_t()
        getattr(self.lib, f'nvrtcGet{what}Size')(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(self.lib, f'nvrtcGet{what}')(program, buffer)
        return buffer.raw


def texts_of_tests(path):
    """The texts and options of modules that the tests in ``path`` have compiled, with a test."""
    log = os.path.join(ROOT, 'build', 'cuda_texts.jsonl')
    os.makedirs(os.path.dirname(log), exist_ok=True)
    if os.path.exists(log):
        os.remove(log)
    environment = dict(os.environ, PYTHONPATH=os.path.join(ROOT, 'tests', 'simulated'),
                       CUDASIM_LOG=log)
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', '--tb=short', '-m', 'not slow', *path], cwd=ROOT,
        env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f'the tests fail, so that there may be other kernels:\n{done.stdout}')
    found = {}
    with open(log) as file:
        for line in file:
            entry = json.loads(line)
            found.setdefault((entry['code'], tuple(entry['options'])), entry['test'])
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made = os.path.join(ROOT, 'build', 'nvrtc')  # by .ci/cuda
    parser.add_argument('--nvrtc', default=made if os.path.isdir(made) else sys.prefix,
                        help='an environment that has it (build/nvrtc, or this one)')
    parser.add_argument('--arch', nargs='+', default=['sm_80', 'sm_90'])
    parser.add_argument('--write', action='store_true', help='write the table of results')
    parser.add_argument('--functions', action='store_true')
    # Those of the simulated device itself have texts that are wrong on purpose.
    parser.add_argument('tests', nargs='*', default=sorted(
        os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(
            ROOT, 'tests', 'cuda', 'test_*.py')) if 'simulated' not in path))
    args = parser.parse_args()
    nvrtc = Nvrtc(args.nvrtc)
    if args.functions:
        return functions(nvrtc, args.arch)
    texts = texts_of_tests(args.tests)
    rows, wrong = [], []
    for (code, options), test in texts.items():
        if 'no_such_function' in code or 'expp(' in code:
            continue  # meant not to compile
        options += ADDED
        measured = {}
        for arch in args.arch:
            try:
                log, _ = nvrtc.compile(code, arch, options)
            except NvrtcError as error:
                wrong.append(f'{test}, {arch}: {error}')
                continue
            for name, stack, stores, loads, registers in _KERNEL.findall(log):
                facts = int(registers), int(stores) + int(loads), int(stack)
                measured.setdefault(name, {})[arch] = facts
        vectors = nvrtc.compile(code, 'compute_90', options)[1] if measured else b''
        for name, facts in measured.items():
            rows.append((test, name, facts, has_vectors(vectors.decode(), name)))
            wrong += [f'{test}: {name} spills {spilled} bytes for {arch}'
                      for arch, (_, spilled, _) in facts.items() if spilled]
            if moves_vectors(name) and not rows[-1][3]:
                wrong.append(f'{test}: {name} moves no vectors')
    text = table(rows, args.arch, nvrtc.version)
    print(text)
    if args.write:
        with open(TABLE, 'w') as file:
            file.write(text)
    if wrong:
        raise SystemExit('\n'.join(wrong))


def moves_vectors(name):
    """Whether an entry moves several items at a time, by its name."""
    return name.endswith('_by_four') or name == 'update'


def has_vectors(ptx, name):
    """Whether an entry of a PTX text loads or stores four items at a time."""
    entry = ptx.partition(f'.entry {name}(')[2].partition('.entry ')[0]
    return bool(re.search(r'\b(ld|st)\.global(\.nc)?\.v[24]\.', entry))


def table(rows, archs, version):
    """The results as Markdown: one line for each test, and the largest of its kernels."""
    lines = [
        '# Kernels of CUDA programs, compiled for real GPUs', '',
        f'`python benchmarks/check_cuda.py --write`, NVRTC {version}, no GPU. Every text that the '
        'tests make; registers of', 'the largest kernel, spilled bytes of all, and how many of '
        'them move vectors (of those that do by their name).', '',
        '| test | kernels | ' + ' | '.join(f'registers {a}' for a in archs)
        + ' | spilled | vectors |', '|---|---|' + '---|' * (len(archs) + 2)]
    by_test = {}
    for test, name, facts, vectors in rows:
        by_test.setdefault(test, []).append((name, facts, vectors))
    for test, found in sorted(by_test.items()):
        most = [str(max(facts[a][0] for _, facts, _ in found)) for a in archs]
        spilled = sum(f[1] for _, facts, _ in found for f in facts.values())
        fours = [v for name, _, v in found if moves_vectors(name)]
        lines.append(f'| {test} | {len(found)} | {" | ".join(most)} | {spilled} | '
                     f'{sum(fours)} of {len(fours)} |')
    lines.append(f'| all | {len(rows)} | ' + ' | '.join(
        str(max((facts[a][0] for _, _, facts, _ in
                 ((t, n, f, v) for t, n, f, v in rows)), default=0)) for a in archs)
        + f' | {sum(f[1] for _, _, facts, _ in rows for f in facts.values())} | |')
    return '\n'.join(lines) + '\n'


def functions(nvrtc, archs):
    """Which functions give other code with contraction than without."""
    sys.path.insert(0, ROOT)
    from chainwright.codegen.cuda_target.kernels import _MAXIMUM
    from chainwright.codegen.cuda_target.ops import FORMS
    found = []
    for kind, f, loop in (('float', 'f', 'f32'), ('double', '', 'f64')):
        helpers = '\n'.join(_MAXIMUM.format(T=kind, name=name, f=f) for name in ('max', 'min'))
        for op, form in FORMS.items():
            if op == 'where' or loop not in form.loops:
                continue
            value = form.text.format('a[i]', 'b[i]', f=f)
            text = (f'{helpers}\nextern "C" __global__ void k(const {kind}* a, const {kind}* b, '
                    f'{kind}* y) {{ int i = threadIdx.x; y[i] = {value}; }}')
            for arch in archs:
                made = [instructions(nvrtc.compile(text, arch, (
                    '-std=c++17', '-ftz=true', f'-fmad={fmad}'))[1]) for fmad in ('true', 'false')]
                if made[0] != made[1]:
                    found.append(f'{op} in {kind}, {arch}: other code with contraction')
    if found:
        raise SystemExit('\n'.join(found))


def instructions(cubin):
    """The section of an ELF file that holds the code of the kernel ``k``."""
    offset, = struct.unpack_from('<Q', cubin, 40)
    size, count, names = struct.unpack_from('<HHH', cubin, 58)
    headers = [struct.unpack_from('<IIQQQQ', cubin, offset + k * size) for k in range(count)]
    start = headers[names][4]
    for name, _, _, _, place, length in headers:
        end = cubin.index(b'\0', start + name)
        if cubin[start + name:end] == b'.text.k':
            return cubin[place:place + length]
    raise ValueError('the file has no kernel k')


if __name__ == '__main__':
    main()
