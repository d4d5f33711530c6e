"""Record what the original gives for the tables in tests/chainer_api/functions.

Run under the original:  tests/golden/original tests/golden/record_functions.py [FAMILY ...]
Writes tests/golden/functions_<family>.npz: all results of a family, raveled and joined by dtype,
and an index (JSON) of ``"case/variant/dtype" -> [[dtype, shape, offset] or null, ...]``, outputs
first, then gradients. ``errors`` in the index holds the text of each error.
"""
import json
import os
import sys

import numpy as np

import chainer
import chainer.functions as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, 'chainer_api', 'functions'))

import function_case  # noqa: E402


def main(families):
    for family in families or function_case.families():
        table = function_case.table(family)
        pool = Pool()
        index = {
            'outputs': {}, 'gradients': {},
            'errors': {row.name: record_error(row) for row in table.ERRORS if row.record},
        }
        for row in table.CASES:
            if not row.record:
                continue
            for variant in range(len(row.variants)):
                for char in row.dtypes:
                    key = f'{row.name}/{variant}/{char}'
                    try:
                        outputs, gradients = record_case(row, variant, char)
                    except Exception:
                        sys.stderr.write(f'{family}: {key}\n')
                        raise
                    index['outputs'][key] = [pool.add(a) for a in outputs]
                    index['gradients'][key] = [pool.add(a) for a in gradients]
        path = os.path.join(HERE, f'functions_{family}.npz')
        text = json.dumps(index, sort_keys=True, separators=(',', ':'))
        np.savez_compressed(
            path, index=np.frombuffer(text.encode(), np.uint8), **pool.joined())
        sys.stderr.write(f'{family}: {len(table.CASES)} rows, {os.path.getsize(path)} bytes\n')


class Pool:
    """Arrays raveled and joined by dtype."""

    def __init__(self):
        self.parts = {}
        self.sizes = {}

    def add(self, array):
        if array is None:
            return None
        char = array.dtype.str[1:]
        offset = self.sizes.get(char, 0)
        self.parts.setdefault(char, []).append(array.ravel())
        self.sizes[char] = offset + array.size
        return [char, list(array.shape), offset]

    def joined(self):
        return {'data_' + char: np.concatenate(parts) for char, parts in self.parts.items()}


def record_case(row, variant, char):
    np.random.seed(0)
    arrays = row.inputs(variant, char)
    indices = row.grad_indices(arrays)
    xs = [chainer.Variable(a) if i in indices else a for i, a in enumerate(arrays)]
    with using_config(row.config):
        ys = function_case.flatten(row.call(F, *xs))
        outputs = [y.array if isinstance(y, chainer.Variable) else y for y in ys]
        gradients = []
        if indices:
            ys = [y for y in ys if isinstance(y, chainer.Variable)]
            gys = function_case.output_grads([y.array for y in ys])
            pairs = [(y, chainer.Variable(gy))
                     for y, gy in zip(ys, gys) if gy is not None]  # noqa: B905  Python 3.8
            gxs = chainer.grad(
                [y for y, _ in pairs], [xs[i] for i in indices], [gy for _, gy in pairs])
            gradients = [None if gx is None else gx.array for gx in gxs]
    return [np.asarray(a) for a in outputs], gradients


def record_error(row):
    with using_config(row.config):
        try:
            row.call(F, *row.arrays())
        except Exception as e:
            bases = [c.__name__ for c in type(e).__mro__]
            if row.exception not in bases:
                raise AssertionError(f'{row.name} raises {e!r}') from e
            return str(e)
    raise AssertionError(f'{row.name} raises nothing')


class using_config:
    def __init__(self, settings):
        self.contexts = [chainer.using_config(k, v) for k, v in sorted(settings.items())]

    def __enter__(self):
        for c in self.contexts:
            c.__enter__()

    def __exit__(self, *error):
        for c in reversed(self.contexts):
            c.__exit__(*error)


if __name__ == '__main__':
    main(sys.argv[1:])
