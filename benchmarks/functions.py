"""Errors of the mathematical functions that programs use which need not be exact.

    python benchmarks/functions.py [--step N] > benchmarks/results/functions.md

Every N-th number of single precision is asked for, NaN and infinities among them. The unit is the
distance of neighbouring numbers of single precision at the result, which NumPy computes in double
precision. Of numbers without a finite result it is counted how many come out otherwise.
"""

import argparse

import numpy as np

from chainwright.codegen.native_target.functions import FUNCTIONS
from chainwright.ir import Graph, make, placeholder
from chainwright.ir.passes import prepare
from chainwright.runtime.native import fast_target

CHUNK = 1 << 20


def compiled(name, size):
    """A function over arrays of this many numbers, in native code that need not be exact."""
    target = fast_target()
    x = placeholder('x', (size,), np.float32)
    y = make(name, x)
    graph = prepare(Graph((x,), (y,), (y,), name), target.passes)
    program = target.program(graph, name)
    assert len(program.kernels) == 1 and program.kernels[0].fast, f'{name} is no own function'
    loaded = program.load()
    memory = loaded.new_scratch()

    def call(array):
        with np.errstate(all='ignore'):
            return loaded.function(array, memory, ())[0]

    return call


class Errors:
    """The largest error and where, the mean, and how many results are of another kind."""

    def __init__(self):
        self.largest, self.where, self.total, self.count, self.wrong = 0.0, 0.0, 0.0, 0, 0

    def add(self, x, got, exact):
        rounded = exact.astype('f')
        plain = np.isfinite(rounded) & np.isfinite(got)
        same = np.isnan(got) & np.isnan(rounded) | (got == rounded)
        signs = np.signbit(got) == np.signbit(rounded)
        self.wrong += int((~plain & ~same).sum() + (plain & (rounded == 0) & ~signs).sum())
        error = np.abs(got[plain] - exact[plain]) / np.spacing(np.abs(rounded[plain]))
        if error.size and error.max() > self.largest:
            self.largest, self.where = float(error.max()), float(x[plain][error.argmax()])
        self.total, self.count = self.total + float(error.sum()), self.count + error.size


def measured(name, step):
    """Errors of the own function, and of NumPy's in single precision."""
    own, numpys = Errors(), Errors()
    call = compiled(name, CHUNK)
    ufunc = getattr(np, name)
    for start in range(0, 2**32, CHUNK * step):
        bits = (start + step * np.arange(CHUNK, dtype=np.uint64)) % 2**32
        x = bits.astype(np.uint32).view('f')
        with np.errstate(all='ignore'):
            exact = ufunc(x.astype('d'))
            own.add(x, call(x), exact)
            numpys.add(x, ufunc(x), exact)
    return own, numpys


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--step', type=int, default=101)
    step = parser.parse_args().step
    print('# Mathematical functions where results need not be exact\n')
    print(f'    python benchmarks/functions.py --step {step}\n')
    print('Single precision, against NumPy in double precision, in units of the last place.')
    print('"Others" counts results that are no finite number on one side only, and zeros of '
          'another sign.\n')
    print('| function | largest error | at | mean error | others | NumPy: largest | mean |')
    print('|---|---|---|---|---|---|---|')
    for name in sorted(FUNCTIONS):
        own, numpys = measured(name, step)
        means = [e.total / e.count for e in (own, numpys)]
        print(f'| {name} | {own.largest:.2f} | {own.where:.6g} | {means[0]:.3f} | {own.wrong} '
              f'| {numpys.largest:.2f} | {means[1]:.3f} |', flush=True)


if __name__ == '__main__':
    main()
