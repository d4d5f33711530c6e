"""Record what the original gives for the tables in tests/chainer_api/links.

Run under the original:  tests/golden/original tests/golden/record_links.py [FAMILY ...]
Writes tests/golden/links_<family>.npz: all results of a family, raveled and joined by dtype, and
an index (JSON) of ``"case/dtype" -> part -> name -> [dtype, shape, offset] or null``; see
``link_case.run`` for the parts.

    tests/golden/original tests/golden/record_links.py --save

writes tests/golden/links_saved_<major version>.tar.xz instead: for each case, once trained, the
files that ``save_npz`` and ``save_hdf5`` make, a pickle, and what the link predicts then.

    tests/golden/original tests/golden/record_links.py --load FOLDER

checks that the original loads the files that ``test_links.py`` writes to the folder named by the
environment variable CHAINWRIGHT_SAVED_LINKS, and then computes what stands beside them.
"""
import io
import json
import os
import pickle
import sys
import tarfile
import tempfile

import numpy as np

import chainer

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, 'chainer_api', 'links'))

import link_case  # noqa: E402
import link_cases  # noqa: E402


def record(families):
    for family in families or sorted(link_cases.FAMILIES):
        pool = Pool()
        index = {}
        for row in link_cases.FAMILIES[family]:
            for key, char in link_case.keys(row):
                try:
                    result = link_case.run(chainer, row, char)
                except Exception:
                    sys.stderr.write(f'{family}: {key}\n')
                    raise
                index[key] = {
                    part: {name: pool.add(a) for name, a in sorted(arrays.items())}
                    for part, arrays in result.items()}
        path = os.path.join(HERE, f'links_{family}.npz')
        text = json.dumps(index, sort_keys=True, separators=(',', ':'))
        np.savez_compressed(
            path, index=np.frombuffer(text.encode(), np.uint8), **pool.joined())
        sys.stderr.write(f'{family}: {len(index)} cases, {os.path.getsize(path)} bytes\n')


class Pool:
    """Arrays raveled and joined by dtype."""

    def __init__(self):
        self.parts = {}
        self.sizes = {}

    def add(self, array):
        if array is None:
            return None
        array = np.asarray(array)
        char = array.dtype.str[1:]
        offset = self.sizes.get(char, 0)
        self.parts.setdefault(char, []).append(array.ravel())
        self.sizes[char] = offset + array.size
        return [char, list(array.shape), offset]

    def joined(self):
        return {'data_' + char: np.concatenate(parts) for char, parts in self.parts.items()}


MAJOR = int(chainer.__version__.split('.')[0])


def cases(since):
    """Cases that this version saves or loads: (name of the files, row, dtype)."""
    for family in sorted(link_cases.FAMILIES):
        for row in link_cases.FAMILIES[family]:
            if since(row) <= MAJOR:
                yield row.name + '.f', row, 'f'


def save():
    """Write the files of the original."""
    path = os.path.join(HERE, f'links_saved_{MAJOR}.tar.xz')
    count = 0
    with tempfile.TemporaryDirectory() as folder, tarfile.open(path, 'w:xz') as tar:
        for name, row, char in cases(lambda row: row.saved_since or row.since):
            try:
                link, result = link_case.run_link(chainer, row, char)
            except Exception:
                sys.stderr.write(f'{name}\n')
                raise
            stem = os.path.join(folder, name)
            chainer.serializers.save_npz(stem + '.npz', link)
            chainer.serializers.save_hdf5(stem + '.h5', link)
            with open(stem + '.pickle', 'wb') as file:
                pickle.dump(link, file, protocol=2)
            np.savez(stem + '.predictions.npz', **result['predictions'])
            for kind in ('.npz', '.h5', '.pickle', '.predictions.npz'):
                with open(stem + kind, 'rb') as file:
                    data = file.read()
                info = tarfile.TarInfo(name + kind)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
            count += 1
    sys.stderr.write(f'{count} links, {os.path.getsize(path)} bytes\n')


def load(folder):
    """Load files of ours, and compare the predictions that stand beside them."""
    count = 0
    for name, row, char in cases(lambda row: row.since):
        stem = os.path.join(folder, name)
        for kind in ('.npz', '.h5'):
            with link_case.using_config(chainer, dict(row.config, dtype=np.dtype(char))):
                link = row.make(chainer.links)
                if kind == '.npz':
                    chainer.serializers.load_npz(stem + kind, link)
                else:
                    chainer.serializers.load_hdf5(stem + kind, link)
                actual = link_case.predict(chainer, row, link, row.arrays(char, 1))
            with np.load(stem + '.predictions.npz') as file:
                assert sorted(file) == sorted(actual), stem
                for key, array in actual.items():
                    np.testing.assert_allclose(
                        array, file[key], *row.tolerances(char), err_msg=stem + kind)
            count += 1
    sys.stderr.write(f'{count} files of ours load in Chainer {chainer.__version__}\n')


if __name__ == '__main__':
    if sys.argv[1:2] == ['--load']:
        load(sys.argv[2])
    elif sys.argv[1:] == ['--save']:
        save()
    else:
        record(sys.argv[1:])
