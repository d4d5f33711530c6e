"""examples/static_graph_optimizations: the documented example, with and without side effects."""
import numpy as np
import pytest

PATH = 'static_graph_optimizations/mnist/train_mnist.py'


@pytest.mark.parametrize('name', ['MLP', 'MLPSideEffect'])
def test_train_mnist(example, mnist, name):
    printed = example(PATH).main('--model', name, '-e', '2', '-b', '50', '-u', '20')
    lines = printed.splitlines()
    assert len(lines[2].split()) == 6
    assert 'Classifier.forward' in printed
    # 16 iterations of training, 2 evaluations of one batch each
    assert ('calls of the network: 18' in lines) == (name == 'MLPSideEffect')


@pytest.mark.parametrize('name', ['MLP', 'MLPSideEffect'])
def test_equals_define_by_run(example, mnist, name):
    def train(replaced=()):
        main = example(PATH).load(replaced=replaced)['main']
        return main(['--model', name, '-e', '1', '-b', '50', '-u', '20'])

    compiled = train()
    eager = train([
        ('    @static_graph\n', ''), ('print(predictor.schedule_manager.report())', 'pass')])
    assert compiled.predictor.schedule_manager.report()[0].hits > 0
    assert not hasattr(eager.predictor, 'schedule_manager')
    for a, b in zip(compiled.params(), eager.params(), strict=True):
        np.testing.assert_array_equal(a.array, b.array)
