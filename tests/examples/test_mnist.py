"""examples/mnist: with a trainer, with a loop, and the demonstration."""
import os
import re

import numpy as np
import pytest

from chainer import serializers


def test_trainer(example, mnist):
    script = example('mnist/train_mnist.py')
    printed = script.main('--epoch', '2', '-b', '40', '--noplot')
    lines = printed.splitlines()
    assert lines[0].split() == [
        'epoch', 'main/loss', 'main/accuracy', 'validation/main/loss', 'validation/main/accuracy',
        'elapsed_time']
    losses = [float(line.split()[1]) for line in lines[1:3]]
    assert losses[1] < losses[0]
    assert re.fullmatch(r'label: \d', lines[3])
    assert re.fullmatch(r'predicted_label: \d', lines[4])
    # cg.png is there where Graphviz is
    assert set(os.listdir('mnist_result')) - {'cg.png'} == {
        'cg.dot', 'log', 'model_epoch-1', 'model_epoch-2', 'snapshot_epoch-1', 'snapshot_epoch-2'}


def test_trainer_goes_on_from_a_snapshot(example, mnist):
    script = example('mnist/train_mnist.py')

    def parameters(folder):
        model = script.load()['MLP']()
        serializers.load_npz(f'{folder}/model_epoch-2', model)
        return [p.array for p in model.params()]

    script.main('--epoch', '2', '-b', '40', '--noplot', '--out', 'whole')
    script.main('--epoch', '1', '-b', '40', '--noplot', '--out', 'halves')
    script.main('--epoch', '2', '-b', '40', '--noplot', '--out', 'halves', '--seed', '1',
                '--resume', 'halves/snapshot_epoch-1')
    for whole, halves in zip(parameters('whole'), parameters('halves'), strict=True):
        # The order of the second epoch was drawn before the snapshot.
        np.testing.assert_array_equal(whole, halves)


def test_pictures(example, mnist):
    pytest.importorskip('matplotlib')
    example('mnist/train_mnist.py').main('--epoch', '1', '-b', '200')
    assert {'loss.png', 'accuracy.png'} <= set(os.listdir('mnist_result'))


def test_custom_loop(example, mnist):
    lines = example('mnist/train_mnist_custom_loop.py').main('-e', '2', '-b', '50').splitlines()
    assert lines[0].startswith('label: ')
    pattern = r'epoch:0{} train_loss:(\d\.\d{{4}}) val_loss:(\d\.\d{{4}}) val_accuracy:0\.\d{{4}}'
    first, second = (re.fullmatch(pattern.format(i), lines[i]) for i in (1, 2))
    assert float(second[2]) < float(first[2])
    assert lines[4] == '(784,) -> (1, 784)'
    assert re.fullmatch(r'predicted label: \d', lines[5])
    assert os.path.exists('my_mnist.model')


def test_custom_loop_draws(example, mnist):
    pytest.importorskip('matplotlib')
    example('mnist/train_mnist_custom_loop.py').main('-e', '1', '-b', '400', '--pictures')
    assert os.path.exists('5.png')
    assert os.path.exists('7.png')


TABLE = r'''
 +accuracy +ms forward\+backward +ms an iteration
define-by-run +(0\.\d{4}) +\d+\.\d{3} +\d+\.\d{3}
compiled +(0\.\d{4}) +\d+\.\d{3} +\d+\.\d{3}
ratio +equal +\d+\.\d\dx +\d+\.\d\dx
'''


class TestDemo:

    def check(self, printed):
        table = re.search(TABLE, printed)
        assert table is not None, printed
        assert table[1] == table[2]
        with open('demo-output/program.py') as file:
            source = file.read()
        assert 'def CompiledNetwork_forward(' in source
        assert 'def CompiledNetwork_forward_backward(' in source
        with open('demo-output/graph.dot') as file:
            assert file.read().startswith('digraph "CompiledNetwork.forward"')
        return float(table[1])

    def test_digits(self, example):
        printed = example('mnist/demo.py').main('--epoch', '4')
        assert printed.startswith('Data: handwritten digits, 8 by 8 pixels')
        assert '1437 to train, 360 to test' in printed
        assert self.check(printed) > 0.9
        with open('demo-output/graph.svg') as file:
            assert 'kernel 0' in file.read()
        with open('demo-output/report.html') as file:
            assert '<h1>The compiled network of the demo</h1>' in file.read()

    def test_mnist_from_the_cache(self, example, mnist):
        printed = example('mnist/demo.py').main('--epoch', '1')
        assert printed.startswith('Data: MNIST, 28 by 28 pixels; 400 to train, 50 to test')
        self.check(printed)

    def test_a_difference_is_an_error(self, example, monkeypatch):
        script = example('mnist/demo.py')
        names = script.load()
        accuracies = iter([0.5, 0.25] * 3)
        monkeypatch.setitem(
            names['main'].__globals__, 'accuracy_of', lambda trainer: next(accuracies))
        with pytest.raises(SystemExit, match='did not end with the accuracy'):
            names['main'](['--epoch', '1'])


def test_digits(example):
    train, test = example('shared/digits.py').load()['get_digits']()
    assert (len(train), len(test)) == (1437, 360)
    x, t = (np.array(column) for column in zip(*train, strict=True))
    assert x.shape == (1437, 64)
    assert (x.dtype, t.dtype) == (np.float32, np.int32)
    assert (x.min(), x.max()) == (0, 1)
    assert np.bincount(t).min() > 100
