"""The examples with ``-g 0``, for a few iterations, with and without ``--static``."""
import importlib.util
import pathlib
import shlex

import pytest
import test_all as examples

from chainer.backends import cuda

_path = pathlib.Path(examples.__file__).with_name('conftest.py')
_spec = importlib.util.spec_from_file_location('conftest_of_examples', _path)
_conftest = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_conftest)
scene, example = _conftest.scene, _conftest.example

#: Those for each commit: trainer, own loops, two devices, embeddings and LSTM.
QUICK = ('mnist/train_mnist_custom_loop.py', 'mnist/train_mnist_data_parallel.py',
         'mnist/train_mnist_model_parallel.py', 'ptb/train_ptb.py')


def cases():
    runs = [(run, ['', '--static']) for run in examples.RUNS]
    runs += [(run, ['']) for run in examples.STATIC_GRAPH]
    for (path, options, methods), flags in runs:
        for flag in flags:
            quick = path in QUICK and (not flag or path == QUICK[0])
            marks = [] if quick else [pytest.mark.slow]
            compiled = methods if flag or path.startswith('static_graph') else {}
            yield pytest.param(path, f'{options} {flag}', compiled, marks=marks,
                               id=f'{path} {options} {flag}'.strip())


@pytest.mark.parametrize('path, options, methods', [*cases()])
def test_on_the_device(example, path, options, methods):
    examples.needed(path, options)
    second = ['--device1', '@cupy:1'] if 'parallel' in path else []
    if second and cuda.cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip('one device')
    printed = example(path).main(
        '--test', '-g', '0', *second, *shlex.split(options),
        replaced=examples.FEWER.get(path, ()))
    lines, counts = examples.lines_of(printed)
    assert lines and set(counts) == set(methods)
    # Where most calls are programs on the host, some are on the device, too.
    assert all(counts[name] != examples.NONE for name, how in methods.items()
               if how == examples.MOST)


@pytest.mark.parametrize('name', ['gpu', 'own_functions'])
def test_guide(example, name):
    example(f'guides/{name}.py').load()
