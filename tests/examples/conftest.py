"""The examples run in this process, in a temporary folder, on a few real digits."""
import contextlib
import io
import pathlib
import random
import runpy
import sys

import numpy as np
import pytest

from chainer.training import extensions

EXAMPLES = pathlib.Path(__file__).parents[2] / 'examples'


class CurrentOutput:
    """Standard output as it is when something is written."""

    def __getattr__(self, name):
        return getattr(sys.stdout, name)


@pytest.fixture(autouse=True)
def scene(tmp_path, monkeypatch):
    """An empty working folder, an empty data set cache, fixed random numbers."""
    for extension in (extensions.PrintReport, extensions.ProgressBar):
        # The default of ``out`` was evaluated when pytest's own output was in place.
        *others, out = extension.__init__.__defaults__
        assert hasattr(out, 'write')
        monkeypatch.setattr(extension.__init__, '__defaults__', (*others, CurrentOutput()))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('CHAINER_DATASET_ROOT', str(tmp_path / 'datasets'))
    monkeypatch.setenv('MPLBACKEND', 'Agg')
    random.seed(0)
    np.random.seed(0)
    yield
    # Several examples have a net.py: each is to find its own.
    for name, module in list(sys.modules.items()):
        paths = list(getattr(module, '__path__', [])) or [getattr(module, '__file__', None)]
        if any(path and pathlib.Path(path).is_relative_to(EXAMPLES) for path in paths):
            del sys.modules[name]


@pytest.fixture
def mnist(scene, tmp_path):
    """A data set cache with MNIST: 400 and 50 of the small digits, as large as those of MNIST."""
    images, labels = runpy.run_path(str(EXAMPLES / 'shared/digits.py'))['read_digits']()
    large = np.kron(images.reshape(-1, 8, 8), np.ones((3, 3))) * (255 / 16)
    large = np.pad(large, ((0, 0), (2, 2), (2, 2))).astype(np.uint8).reshape(-1, 784)
    folder = tmp_path / 'datasets/pfnet/chainer/mnist'
    folder.mkdir(parents=True)
    np.savez(folder / 'train.npz', x=large[:400], y=labels[:400])
    np.savez(folder / 'test.npz', x=large[400:450], y=labels[400:450])


@pytest.fixture
def cifar10(scene, tmp_path):
    """A data set cache with CIFAR-10 of random pictures."""
    folder = tmp_path / 'datasets/pfnet/chainer/cifar'
    folder.mkdir(parents=True)
    rng = np.random.RandomState(0)
    np.savez(
        folder / 'cifar-10.npz',
        train_x=rng.randint(0, 256, (8, 3072)).astype(np.uint8),
        train_y=np.arange(8, dtype=np.uint8),
        test_x=rng.randint(0, 256, (4, 3072)).astype(np.uint8),
        test_y=np.arange(4, dtype=np.uint8))


class Example:
    """A file of the examples.

    Args:
        path: Its path under ``examples``.
    """

    def __init__(self, path, monkeypatch):
        self.path = EXAMPLES / path
        monkeypatch.syspath_prepend(str(self.path.parent))

    def load(self, name='example', replaced=()):
        """Run the file with some of its text replaced; return its names.

        Args:
            name: Value of ``__name__``.
            replaced: Pairs of texts; the first is to occur in the file.
        """
        source = self.path.read_text()
        for old, new in replaced:
            assert old in source, old
            source = source.replace(old, new)
        names = {'__name__': name, '__file__': str(self.path)}
        exec(compile(source, str(self.path), 'exec'), names)
        return names

    def run(self, replaced=()):
        """Run the file as a script; return what it prints."""
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.load('__main__', replaced)
        return out.getvalue()

    def main(self, *args, replaced=()):
        """Call its main function with command line arguments; return what it prints."""
        main = self.load(replaced=replaced)['main']
        with contextlib.redirect_stdout(io.StringIO()) as out:
            main(list(args))
        return out.getvalue()


@pytest.fixture
def example(monkeypatch):
    return lambda path: Example(path, monkeypatch)
