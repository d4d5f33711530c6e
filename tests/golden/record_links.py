"""Record what the original gives for the tables in tests/chainer_api/links.

Run under the original:  oracle tests/golden/record_links.py [FAMILY ...]
Writes tests/golden/links_<family>.npz: all results of a family, raveled and joined by dtype, and
an index (JSON) of ``"case/dtype" -> part -> name -> [dtype, shape, offset] or null``; see
``link_case.run`` for the parts.

    oracle tests/golden/record_links.py --load FOLDER

checks instead that the original loads the files that ``test_links.py`` writes to the folder named
by the environment variable CHAINWRIGHT_SAVED_LINKS, and then computes what stands in them.
"""
import json
import os
import sys

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


def load(folder):
    """Load files of ours, and compare the predictions that stand in them."""
    major = int(chainer.__version__.split('.')[0])
    checked = 0
    for rows in link_cases.FAMILIES.values():
        for row in rows:
            if row.since > major:
                continue
            for key, char in link_case.keys(row):
                if char != 'f':
                    continue
                path = os.path.join(folder, key.replace('/', '.') + '.npz')
                with link_case.using_config(chainer, dict(row.config, dtype=np.dtype(char))):
                    link = row.make(chainer.links)
                    chainer.serializers.load_npz(path, link, path='link/')
                    actual = link_case.predict(chainer, row, link, row.arrays(char, 1))
                with np.load(path) as file:
                    rtol, atol = row.tolerances(char)
                    for name, array in actual.items():
                        np.testing.assert_allclose(
                            array, file['predictions/' + name], rtol, atol, err_msg=key)
                checked += 1
    sys.stderr.write(f'{checked} files of ours load in Chainer {chainer.__version__}\n')


if __name__ == '__main__':
    if sys.argv[1:2] == ['--load']:
        load(sys.argv[2])
    else:
        record(sys.argv[1:])
