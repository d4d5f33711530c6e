"""The well-known data sets, from small files in their formats; nothing is downloaded."""
import gzip
import io
import os
import pickle
import struct
import tarfile

import numpy as np
import pytest

import chainer
from chainer import datasets
from chainer.dataset import download
from chainer.datasets import _source, cifar, fashion_mnist, kuzushiji_mnist, mnist, ptb, svhn


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """A cache of its own, without network and with our files for the right ones."""
    def refuse(url, checksum, mirrors):
        raise OSError('no network in tests')

    monkeypatch.setattr(download, '_chosen_root', str(tmp_path))
    monkeypatch.setattr(download, 'cached_download', refuse)
    monkeypatch.setattr(download, 'matches', lambda path, checksum: True)
    return tmp_path


def put(root, name, content):
    path = root / 'pfnet' / 'chainer' / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def idx(array):
    header = bytes((0, 0, 8, array.ndim)) + struct.pack(f'>{array.ndim}i', *array.shape)
    return gzip.compress(header + array.tobytes())


def random_bytes(shape, seed=0):
    return np.random.RandomState(seed).randint(0, 256, shape, np.uint8)


MNIST_LIKE = [
    ('mnist', datasets.get_mnist), ('fashion-mnist', datasets.get_fashion_mnist),
    ('kuzushiji_mnist', datasets.get_kuzushiji_mnist),
]


@pytest.fixture
def digits(root):
    images, labels = random_bytes((5, 28, 28)), np.arange(5, dtype=np.uint8)
    for name, _ in MNIST_LIKE:
        for part in 'train', 't10k':
            put(root, f'{name}/{part}-images-idx3-ubyte.gz', idx(images))
            put(root, f'{name}/{part}-labels-idx1-ubyte.gz', idx(labels))
    return images, labels


@pytest.mark.parametrize('name, get', MNIST_LIKE)
class TestMnist:

    def test_tuples(self, root, digits, name, get):
        images, labels = digits
        for _ in range(2):  # from the original files, and from what was made of them
            for data in get():
                assert isinstance(data, datasets.TupleDataset) and len(data) == 5
                image, label = data[2]
                assert image.dtype == np.float32 and image.shape == (784,)
                expected = images[2].ravel().astype(np.float32)
                expected *= 1 / 255.
                np.testing.assert_array_equal(image, expected)
                assert label == 2 and label.dtype == np.int32
        with np.load(root / 'pfnet' / 'chainer' / name / 'train.npz') as file:
            np.testing.assert_array_equal(file['x'], images.reshape(5, 784))
            np.testing.assert_array_equal(file['y'], labels)

    @pytest.mark.parametrize('ndim, rgb, shape', [
        (1, False, (784,)), (2, False, (28, 28)), (3, False, (1, 28, 28)), (3, True, (3, 28, 28)),
        (2, True, (28, 28))])
    def test_shapes(self, digits, name, get, ndim, rgb, shape):
        train, test = get(withlabel=False, ndim=ndim, rgb_format=rgb, scale=255., dtype=np.float64)
        for images in train, test:
            assert images.shape == (5, *shape) and images.dtype == np.float64
            np.testing.assert_allclose(
                images.reshape(5, -1, 784)[:, -1], digits[0].reshape(5, 784), rtol=1e-12)

    def test_types(self, digits, name, get):
        with chainer.using_config('dtype', np.float16):
            train, _ = get(label_dtype=np.int64)
        assert train[0][0].dtype == np.float16 and train[0][1].dtype == np.int64

    def test_wrong_ndim(self, digits, name, get):
        with pytest.raises(ValueError, match='invalid ndim for MNIST dataset: 4'):
            get(ndim=4)

    def test_offline(self, root, name, get):
        with pytest.raises(OSError) as caught:
            get()
        path = root / 'pfnet' / 'chainer' / name / 'train-images-idx3-ubyte.gz'
        assert 'no network in tests' in str(caught.value)
        assert str(caught.value).endswith(f'or, under its own name, as\n  {path}')

    def test_damaged_file(self, root, digits, name, get):
        put(root, f'{name}/train-images-idx3-ubyte.gz', gzip.compress(b'\0\0\x08\x03' + bytes(20)))
        with pytest.raises(ValueError, match='is not a gzipped IDX file of 3-dimensional bytes'):
            get()


def test_labels():
    assert datasets.get_fashion_mnist_labels()[:2] == ['T-shirt/top', 'Trouser']
    assert datasets.get_kuzushiji_mnist_labels()[-1] == ('wo', 'を')


def test_wrong_checksum_of_a_file_put_there(root, digits, monkeypatch):
    monkeypatch.setattr(download, 'matches', lambda path, checksum: False)
    with pytest.raises(ValueError, match='ubyte.gz is damaged or is another file'):
        datasets.get_mnist()


def archive_of(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


WHOLE = archive_of(x=np.zeros((4, 784), np.uint8), y=np.zeros(4, np.uint8))
DAMAGED = {
    'empty': b'',
    'truncated': WHOLE[:len(WHOLE) // 2],
    'a web page': b'<!DOCTYPE html><html><head><title>404 Not Found</title></head></html>',
    'a flipped bit': WHOLE[:300] + bytes([WHOLE[300] ^ 1]) + WHOLE[301:],
    'another archive': archive_of(a=np.zeros(3)),
    'other shapes': archive_of(
        x=np.zeros((4, 7)), y=np.zeros(3), train_x=np.zeros((4, 7)), train_y=np.zeros(3)),
    'one array': (lambda file: (np.save(file, np.zeros(3)), file.getvalue())[1])(io.BytesIO()),
}
CACHED = [
    ('mnist/train.npz', datasets.get_mnist),
    ('fashion-mnist/train.npz', datasets.get_fashion_mnist),
    ('kuzushiji_mnist/train.npz', datasets.get_kuzushiji_mnist),
    ('cifar/cifar-10.npz', datasets.get_cifar10),
    ('cifar/cifar-100.npz', datasets.get_cifar100),
    ('svhn/train.npz', datasets.get_svhn),
    ('ptb/train.npz', datasets.get_ptb_words),
]


@pytest.mark.parametrize('damage', DAMAGED)
@pytest.mark.parametrize('name, get', CACHED)
def test_damaged_files_in_the_cache_are_named(root, name, get, damage):
    if name.startswith('ptb') and damage == 'other shapes':
        return  # any array is a sequence of words
    put(root, name, DAMAGED[damage])
    with pytest.raises(OSError, match=r'is damaged or is no file of this data set; delete it') as e:
        get()
    assert str(e.value).startswith(str(root / 'pfnet' / 'chainer' / name))


def test_vocabulary_that_is_no_text(root):
    put(root, 'ptb/vocab.txt', bytes(range(256)))
    with pytest.raises(OSError, match='vocab.txt is damaged'):
        datasets.get_ptb_words_vocabulary()


def test_damaged_downloads_are_fetched_again(root, digits, monkeypatch):
    """The download cache holds what came under checksums; a file that changed since is no use."""
    source = mnist._SOURCES['train'][0]
    path = root / 'downloaded'
    path.write_bytes(b'half of it')

    def cached_download(url, checksum, mirrors):
        assert (url, checksum) == (source.url, source.checksum)
        if not path.exists():
            path.write_bytes(b'whole')
        return str(path)

    monkeypatch.setattr(download, 'cached_download', cached_download)
    monkeypatch.setattr(
        download, 'matches', lambda path, checksum: open(path, 'rb').read() == b'whole')
    with pytest.warns(UserWarning, match=f'{path} was damaged since .* is downloaded again'):
        assert _source.fetch(source, str(root)) == str(path)
    assert path.read_bytes() == b'whole'


def add_pickles(path, batches):
    with tarfile.open(path, 'w:gz') as archive:
        for name, batch in batches.items():
            content = batch if isinstance(batch, bytes) else pickle.dumps(batch, 2)
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


@pytest.fixture
def cifar_folder(root):
    folder = root / 'pfnet' / 'chainer' / 'cifar'
    folder.mkdir(parents=True)
    return folder


def test_cifar10(cifar_folder):
    data = random_bytes((12, 3072))
    names = [f'data_batch_{i}' for i in range(1, 6)] + ['test_batch']
    add_pickles(cifar_folder / 'cifar-10-python.tar.gz', {
        f'cifar-10-batches-py/{name}': {'data': data[2 * i:2 * i + 2], 'labels': [i, i + 1]}
        for i, name in enumerate(names)})
    for _ in range(2):
        train, test = datasets.get_cifar10()
        assert len(train) == 10 and len(test) == 2
        image, label = train[3]
        assert image.shape == (3, 32, 32) and image.dtype == np.float32
        expected = data[3].reshape(3, 32, 32).astype(np.float32)
        expected *= 1 / 255.
        np.testing.assert_array_equal(image, expected)
        assert label == 2 and label.dtype == np.int32
    train, test = datasets.get_cifar10(withlabel=False, ndim=1, scale=255., dtype=np.float64)
    np.testing.assert_allclose(test, data[10:], rtol=1e-12)
    with pytest.raises(ValueError, match='invalid ndim for CIFAR dataset: 2'):
        datasets.get_cifar10(ndim=2)


def test_cifar100(cifar_folder):
    data = random_bytes((3, 3072))
    add_pickles(cifar_folder / 'cifar-100-python.tar.gz', {
        'cifar-100-python/train': {
            'data': data[:2], 'fine_labels': [7, 99], 'coarse_labels': [0, 1]},
        'cifar-100-python/test': {'data': data[2:], 'fine_labels': [3], 'coarse_labels': [2]}})
    train, test = datasets.get_cifar100()
    assert [int(label) for _, label in train[:]] == [7, 99] and test[0][1] == 3


def test_cifar_runs_no_code(cifar_folder):
    evil = b"cos\nsystem\n(S'touch pwned'\ntR."
    add_pickles(cifar_folder / 'cifar-100-python.tar.gz', {'cifar-100-python/train': evil})
    with pytest.raises(pickle.UnpicklingError, match='does not need os.system'):
        datasets.get_cifar100()
    assert not os.path.exists('pwned')


def test_svhn(root):
    scipy_io = pytest.importorskip('scipy.io')
    images = random_bytes((32, 32, 3, 4))
    for part in 'train', 'test', 'extra':
        file = io.BytesIO()
        scipy_io.savemat(file, {'X': images, 'y': np.array([[10], [1], [2], [9]], np.uint8)})
        put(root, f'svhn/{part}_32x32.mat', file.getvalue())
    for _ in range(2):
        sets = datasets.get_svhn(add_extra=True)
        assert len(sets) == 3 and len(datasets.get_svhn()) == 2
        image, label = sets[2][3]
        expected = images[:, :, :, 3].transpose(2, 0, 1).astype(np.float32)
        expected *= 1 / 255.
        np.testing.assert_array_equal(image, expected)
        assert [int(label) for _, label in sets[0][:]] == [0, 1, 2, 9] and label.dtype == np.int32
    assert datasets.get_svhn(withlabel=False)[0].shape == (4, 3, 32, 32)


def test_ptb(root):
    put(root, 'ptb/ptb.train.txt', b' a b c \n d <unk> a \n')
    put(root, 'ptb/ptb.valid.txt', b' c c \n')
    put(root, 'ptb/ptb.test.txt', b'')
    for _ in range(2):
        assert datasets.get_ptb_words_vocabulary() == {
            'a': 0, 'b': 1, 'c': 2, '<eos>': 3, 'd': 4, '<unk>': 5}
        train, valid, test = datasets.get_ptb_words()
        assert train.tolist() == [0, 1, 2, 3, 4, 5, 0, 3] and train.dtype == np.int32
        assert valid.tolist() == [2, 2, 3] and test.tolist() == []
    vocabulary = root / 'pfnet' / 'chainer' / 'ptb' / 'vocab.txt'
    assert vocabulary.read_text() == 'a\nb\nc\n<eos>\nd\n<unk>\n'


def test_ptb_of_another_vocabulary(root):
    put(root, 'ptb/vocab.txt', b'a\n<eos>\n')
    put(root, 'ptb/ptb.train.txt', b'a z\n')
    with pytest.raises(ValueError, match="1 words of the train text.*'z' for one"):
        datasets.get_ptb_words()


def test_every_source_has_a_checksum():
    sources = [s for module in (mnist, fashion_mnist, kuzushiji_mnist)
               for pair in module._SOURCES.values() for s in pair]
    sources += [*svhn._SOURCES.values(), *ptb._SOURCES.values(), cifar._CIFAR10, cifar._CIFAR100]
    for source in sources:
        assert isinstance(source, _source.Source)
        kind, _, digest = source.checksum.partition(':')
        assert kind == 'md5' and len(digest) == 32
        assert all(m.rsplit('/')[-1] == source.url.rsplit('/')[-1] for m in source.mirrors)
    assert len({source.checksum for source in sources}) == len(sources)
