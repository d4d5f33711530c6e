"""Datasets in files: images, text, pickles."""
import io
import os
import pickle
import sys
import zipfile

import numpy as np
import pytest

import chainer
from chainer import datasets


@pytest.fixture
def images(tmp_path):
    image = pytest.importorskip('PIL.Image')
    rs = np.random.RandomState(0)
    arrays = {
        'rgb.png': rs.randint(0, 256, (3, 4, 3), np.uint8),
        'grey.png': rs.randint(0, 256, (3, 4), np.uint8),
        'rgba.png': rs.randint(0, 256, (3, 4, 4), np.uint8),
    }
    for name, array in arrays.items():
        image.fromarray(array).save(tmp_path / name)
    palette = image.fromarray(np.arange(12, dtype=np.uint8).reshape(3, 4), 'P')
    palette.putpalette(list(range(255, -1, -1)) * 3)
    palette.save(tmp_path / 'palette.png')
    arrays['palette.png'] = np.arange(12, dtype=np.uint8).reshape(3, 4)
    return tmp_path, {
        name: a.transpose(2, 0, 1) if a.ndim == 3 else a[None] for name, a in arrays.items()}


@pytest.mark.filterwarnings('ignore::DeprecationWarning')
class TestImages:

    def test_list(self, images):
        root, arrays = images
        data = datasets.ImageDataset(list(arrays), root=str(root))
        assert len(data) == 4
        for got, expected in zip(data[:], arrays.values(), strict=True):
            assert got.dtype == np.float32
            np.testing.assert_array_equal(got, expected)
        with chainer.using_config('dtype', np.float16):
            assert datasets.ImageDataset(list(arrays), str(root))[0].dtype == np.float16
        assert datasets.ImageDataset(list(arrays), str(root), np.uint8)[0].dtype == np.uint8

    def test_list_file(self, images):
        root, arrays = images
        (root / 'list.txt').write_text('rgb.png\n\n  grey.png \n')
        data = datasets.ImageDataset(str(root / 'list.txt'), root=str(root))
        assert len(data) == 2
        np.testing.assert_array_equal(data[1], arrays['grey.png'])

    def test_labels(self, images):
        root, arrays = images
        (root / 'pairs.txt').write_text('rgb.png 3\ngrey.png 4\n')
        data = datasets.LabeledImageDataset(str(root / 'pairs.txt'), str(root))
        image, label = data[1]
        np.testing.assert_array_equal(image, arrays['grey.png'])
        assert label == 4 and label.dtype == np.int32 and label.shape == ()
        other = datasets.LabeledImageDataset([('rgb.png', 7)], str(root), label_dtype=np.int64)
        assert other[0][1].dtype == np.int64 and len(other) == 1

    def test_broken_label_file(self, images):
        root, _ = images
        (root / 'pairs.txt').write_text('rgb.png 3\ngrey.png\n')
        with pytest.raises(ValueError, match="line 2 in file .*expected a path and an integer lab"):
            datasets.LabeledImageDataset(str(root / 'pairs.txt'), str(root))

    def test_zip(self, images):
        root, arrays = images
        with zipfile.ZipFile(root / 'a.zip', 'w') as file:
            file.mkdir('sub')
            file.write(root / 'rgb.png', 'rgb.png')
            file.write(root / 'grey.png', 'sub/grey.png')
        with zipfile.ZipFile(root / 'b.zip', 'w') as file:
            file.write(root / 'rgba.png', 'rgba.png')
        data = datasets.ZippedImageDataset(str(root / 'a.zip'))
        assert len(data) == 2
        np.testing.assert_array_equal(data[1], arrays['grey.png'])
        np.testing.assert_array_equal(data.get_example('sub/grey.png'), arrays['grey.png'])
        copied = pickle.loads(pickle.dumps(data))
        np.testing.assert_array_equal(copied[0], arrays['rgb.png'])

        both = datasets.MultiZippedImageDataset([str(root / 'a.zip'), str(root / 'b.zip')])
        assert len(both) == 3
        np.testing.assert_array_equal(both[2], arrays['rgba.png'])
        np.testing.assert_array_equal(both[1], arrays['grey.png'])
        with pytest.raises(IndexError, match='index 3 of a MultiZippedImageDataset of 3 images'):
            both[3]

        (root / 'labels.txt').write_text('sub/grey.png 5\nrgb.png 6\n')
        labeled = datasets.LabeledZippedImageDataset(
            str(root / 'a.zip'), str(root / 'labels.txt'))
        assert len(labeled) == 2 and [int(label) for _, label in labeled[:]] == [5, 6]
        np.testing.assert_array_equal(labeled[0][0], arrays['grey.png'])

    @pytest.mark.parametrize('damage', [
        lambda content: b'', lambda content: b'<html>', lambda content: content[:-30],
        lambda content: content[:40], lambda content: content[:41] + b'\xff' * 8 + content[49:]])
    @pytest.mark.parametrize('suffix', ['png', 'jpg', 'bmp'])
    def test_damaged_images_are_named(self, images, suffix, damage):
        root, arrays = images
        image = pytest.importorskip('PIL.Image')
        image.fromarray(np.zeros((40, 40, 3), np.uint8)).save(root / f'x.{suffix}')
        content = damage((root / f'x.{suffix}').read_bytes())
        (root / f'x.{suffix}').write_bytes(content)
        with zipfile.ZipFile(root / 'a.zip', 'w') as file:
            file.writestr(f'x.{suffix}', content)
        for data, where in (
                (datasets.ImageDataset([f'x.{suffix}'], str(root)), root / f'x.{suffix}'),
                (datasets.LabeledImageDataset([(f'x.{suffix}', 0)], str(root)),
                 root / f'x.{suffix}'),
                (datasets.ZippedImageDataset(str(root / 'a.zip')),
                 f'x.{suffix} in {root / "a.zip"}')):
            try:
                data[0]
            except OSError as error:
                assert f'the image {where} is damaged, or is no image' in str(error)
            else:  # a few wrong bytes may make another image
                assert len(content) > 49 and content[41:49] == b'\xff' * 8

    def test_damaged_archives_are_named(self, images):
        root, _ = images
        (root / 'a.zip').write_bytes(b'<html>')
        with pytest.raises(OSError, match='a.zip is no zip archive'):
            datasets.ZippedImageDataset(str(root / 'a.zip'))
        with zipfile.ZipFile(root / 'a.zip', 'w') as file:
            file.write(root / 'rgb.png', 'rgb.png')
        content = (root / 'a.zip').read_bytes()
        (root / 'a.zip').write_bytes(content[:60] + b'\0\0\0\0' + content[64:])
        with pytest.raises(OSError, match='the image rgb.png in .*a.zip is damaged'):
            datasets.ZippedImageDataset(str(root / 'a.zip'))[0]

    def test_missing_images_stay_missing(self, images):
        with pytest.raises(FileNotFoundError, match='nowhere.png'):
            datasets.ImageDataset(['nowhere.png'], str(images[0]))[0]

    @pytest.mark.parametrize('label, dtype', [
        (2 ** 31, np.int32), (10 ** 30, np.int64), (-1, np.uint8), (256, np.uint8)])
    def test_labels_that_do_not_fit(self, images, label, dtype):
        root, _ = images
        (root / 'pairs.txt').write_text(f'rgb.png {label}')
        with zipfile.ZipFile(root / 'a.zip', 'w') as file:
            file.write(root / 'rgb.png', 'rgb.png')
        pairs = str(root / 'pairs.txt')
        for data in (datasets.LabeledImageDataset(pairs, str(root), label_dtype=dtype),
                     datasets.LabeledZippedImageDataset(
                         str(root / 'a.zip'), pairs, label_dtype=dtype)):
            with pytest.raises(ValueError, match=f'the label {label} of .*rgb.png does not fit'):
                data[0]

    def test_without_pillow(self, monkeypatch):
        monkeypatch.setitem(sys.modules, 'PIL', None)
        with pytest.raises(ImportError, match='image datasets need Pillow'):
            datasets.ImageDataset([])


def write(path, text, newline=None):
    with open(path, 'w', encoding='utf-8', newline=newline) as file:
        file.write(text)
    return str(path)


class TestText:

    def test_one_file(self, tmp_path):
        path = write(tmp_path / 'a', 'héllo\nwörld\n\nlast')
        data = datasets.TextDataset(path, encoding='utf-8')
        assert len(data) == 4 and data[:] == ['héllo\n', 'wörld\n', '\n', 'last']
        assert data[[3, 0]] == ['last', 'héllo\n']
        for i in -1, 4:
            with pytest.raises(IndexError, match=f'line {i} of a TextDataset of 4 lines'):
                data[i]
        assert pickle.loads(pickle.dumps(data))[1] == 'wörld\n'
        data.close()
        with pytest.raises(ValueError, match='closed file'):
            data[0]

    def test_several_files(self, tmp_path):
        a, b = write(tmp_path / 'a', 'x\ny\n'), write(tmp_path / 'b', '1\n2\n')
        data = datasets.TextDataset([a, b], encoding=['utf-8', 'ascii'])
        assert data[:] == [('x\n', '1\n'), ('y\n', '2\n')]
        assert datasets.TextDataset([a])[0] == 'x\n'
        picked = datasets.TextDataset([a, b], filter_func=lambda s, t: t != '1\n')
        assert picked[:] == [('y\n', '2\n')]

    def test_line_ends_and_decoding_errors(self, tmp_path):
        path = write(tmp_path / 'a', '1\r\n2\r3\n4', newline='')
        expected = {None: ['1\n', '2\n', '3\n', '4'], '': ['1\r\n', '2\r', '3\n', '4'],
                    '\n': ['1\r\n', '2\r3\n', '4'], '\r\n': ['1\r\n', '2\r3\n4']}
        for newline, lines in expected.items():
            assert datasets.TextDataset(path, newline=newline)[:] == lines
        path = write(tmp_path / 'b', 'é\nb')
        assert datasets.TextDataset(path, 'ascii', 'replace')[:] == ['\ufffd\ufffd\n', 'b']
        with pytest.raises(UnicodeDecodeError):
            datasets.TextDataset(path, 'ascii')

    def test_errors(self, tmp_path):
        a, b = write(tmp_path / 'a', 'x\ny\n'), write(tmp_path / 'b', '1\n')
        with pytest.raises(ValueError, match='number of lines in files does not .*: 2, .*: 1'):
            datasets.TextDataset([a, b])
        with pytest.raises(ValueError, match='length of each option must match'):
            datasets.TextDataset([a, b], encoding=['utf-8'])
        with pytest.raises(ValueError, match='at least one text file'):
            datasets.TextDataset([])
        with pytest.raises(FileNotFoundError):
            datasets.TextDataset(str(tmp_path / 'c'))
        assert len(datasets.TextDataset(write(tmp_path / 'empty', ''))) == 0


class TestPickle:

    def test_write_and_read(self, tmp_path):
        path = str(tmp_path / 'data')
        with datasets.open_pickle_dataset_writer(path) as writer:
            writer.write((1, 2., 'hello'))
            writer.write(np.arange(3))
        with datasets.open_pickle_dataset(path) as data:
            assert len(data) == 2 and data[0] == (1, 2., 'hello')
            np.testing.assert_array_equal(data[-1], [0, 1, 2])
            copied = pickle.loads(pickle.dumps(data))
            with pytest.raises(IndexError):
                data[2]
        assert copied[0] == (1, 2., 'hello')
        copied.close()
        with pytest.raises(ValueError, match='closed file'):
            data[0]

    def test_protocol_and_flush(self):
        file = io.BytesIO()
        writer = datasets.PickleDatasetWriter(file, protocol=2)
        writer.write('x')
        writer.flush()
        assert file.getvalue() == pickle.dumps('x', 2)
        writer.close()
        assert file.closed

    @pytest.mark.parametrize('content, where', [
        (pickle.dumps(1) + pickle.dumps('long' * 9)[:-5], 'object 1, at byte 5 of'),
        (b'xxxx', 'object 0, at byte 0 of 4'),
    ])
    def test_damaged_file(self, content, where):
        with pytest.raises(ValueError, match=where):
            datasets.PickleDataset(io.BytesIO(content))


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs fork')
def test_forked_processes_have_positions_of_their_own(tmp_path):
    path = write(tmp_path / 'a', 'one\ntwo\nthree\n')
    data = datasets.TextDataset(path)
    data[0]
    before = os.lseek(data._files[0].get().fileno(), 0, os.SEEK_CUR)
    child = os.fork()
    if child == 0:
        os._exit(0 if data[2] == 'three\n' and data[0] == 'one\n' else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert os.lseek(data._files[0].get().fileno(), 0, os.SEEK_CUR) == before
