"""Settings: global, of a thread, and from the environment."""
import copy
import io
import pickle
import threading

import numpy as np
import pytest

import chainer
from chainer import _environment, configuration


@pytest.fixture
def pair():
    shared = configuration.GlobalConfig()
    return shared, configuration.LocalConfig(shared)


def in_thread(function):
    result = []
    thread = threading.Thread(target=lambda: result.append(function()))
    thread.start()
    thread.join()
    return result[0]


def test_local_covers_global(pair):
    shared, local = pair
    shared.a = 1
    assert local.a == 1
    local.a = 2
    assert (local.a, shared.a) == (2, 1)
    assert in_thread(lambda: local.a) == 1
    del local.a
    assert local.a == 1
    shared.a = 3
    assert local.a == in_thread(lambda: local.a) == 3


def test_unset_names(pair):
    _, local = pair
    with pytest.raises(AttributeError, match='nothing'):
        local.nothing  # noqa: B018
    with pytest.raises(AttributeError, match='has not set'):
        del local.nothing
    assert not hasattr(local, 'nothing')


def test_show(pair, capsys):
    shared, local = pair
    shared.long_name, shared.b = 1, [2]
    local.b, local.a = 3, None
    file = io.StringIO()
    local.show(file)
    assert file.getvalue() == 'a         None\nb         3\nlong_name 1\n'
    shared.show()
    assert capsys.readouterr().out == 'b         [2]\nlong_name 1\n'


def test_using_config(pair):
    shared, local = pair
    shared.a = 1
    with chainer.using_config('a', 2, local):
        assert local.a == 2 and shared.a == 1
        with chainer.using_config('a', None, config=local):
            assert local.a is None
        assert local.a == 2
        with chainer.using_config('new', 3, local):
            assert local.new == 3
        assert not hasattr(local, 'new')
    assert local.a == 1
    shared.a = 4  # the thread has no value of its own left behind
    assert local.a == 4


def test_using_config_after_an_exception(pair):
    _, local = pair
    local.a = 1
    with pytest.raises(KeyError), chainer.using_config('a', 2, local):
        raise KeyError
    assert local.a == 1


def test_reads_can_be_hooked(monkeypatch):
    read = []
    plain = configuration.LocalConfig.__getattr__

    def hooked(self, name):
        read.append(name)
        return plain(self, name)

    monkeypatch.setattr(configuration.LocalConfig, '__getattr__', hooked)
    assert chainer.config.train is True
    with chainer.using_config('train', False):
        assert chainer.config.train is False
    assert read.count('train') == 2


def test_peek_is_the_attribute():
    assert configuration.peek('train') is True
    with chainer.using_config('train', False):
        assert configuration.peek('train') is False


def test_debug_mode():
    assert not chainer.is_debug()
    chainer.set_debug(True)
    try:
        assert chainer.is_debug() and not in_thread(chainer.is_debug)
    finally:
        del chainer.config.debug
    with pytest.warns(DeprecationWarning):
        mode = chainer.DebugMode(True)
    with mode:
        assert chainer.is_debug()
    assert not chainer.is_debug()


def test_mixed16_is_one_object():
    assert copy.deepcopy(chainer.mixed16) is chainer.mixed16
    assert pickle.loads(pickle.dumps(chainer.mixed16)) is chainer.mixed16
    assert repr(chainer.mixed16) == "dtype('mixed16')" and np.dtype(chainer.mixed16) == np.float16


# The environment


def test_defaults_without_variables(monkeypatch):
    for name in list(_environment.os.environ):
        if name.startswith(('CHAINER_', 'CHAINWRIGHT_')):
            monkeypatch.delenv(name)
    settings = _environment.default_settings()
    assert {k: v for k, v in settings.items() if v is True} == {
        'enable_backprop': True, 'static_exact': True, 'static_step': True, 'train': True,
        'type_check': True, 'use_static_graph': True}
    assert settings['use_cudnn'] == settings['use_cudnn_tensor_core'] == 'auto'
    assert settings['static_target'] == 'auto' and settings['static_check'] == 'spaced'
    assert settings['static_budget'] == 0.1 and settings['static_threads'] is None
    assert settings['use_ideep'] == 'never' and settings['dtype'] == np.float32
    assert not any(value for key, value in settings.items() if key not in (
        'enable_backprop', 'static_exact', 'static_step', 'train', 'type_check', 'use_cudnn',
        'use_static_graph', 'use_cudnn_tensor_core', 'use_ideep', 'static_target', 'static_check',
        'static_budget', 'dtype'))


@pytest.mark.parametrize(('variable', 'text', 'key', 'value'), [
    ('CHAINER_DEBUG', '1', 'debug', True),
    ('CHAINER_DEBUG', '0', 'debug', False),
    ('CHAINER_DEBUG', '', 'debug', False),
    ('CHAINER_TYPE_CHECK', '0', 'type_check', False),
    ('CHAINER_KEEP_GRAPH_ON_REPORT', '1', 'keep_graph_on_report', True),
    ('CHAINER_LAZY_GRAD_SUM', '1', 'lazy_grad_sum', True),
    ('CHAINER_CUDNN_FAST_BATCH_NORMALIZATION', '1', 'cudnn_fast_batch_normalization', True),
    ('CHAINER_WARN_NONDETERMINISTIC', '1', 'warn_nondeterministic', True),
    ('CHAINER_USE_CUDNN', 'never', 'use_cudnn', 'never'),
    ('CHAINER_USE_CUDNN_TENSOR_CORE', 'always', 'use_cudnn_tensor_core', 'always'),
    ('CHAINER_USE_IDEEP', 'auto', 'use_ideep', 'auto'),
    ('CHAINWRIGHT_TARGET', 'numpy', 'static_target', 'numpy'),
    ('CHAINER_DTYPE', 'float16', 'dtype', np.float16),
    ('CHAINER_DTYPE', 'float64', 'dtype', np.float64),
    ('CHAINER_DTYPE', 'mixed16', 'dtype', chainer.mixed16),
])
def test_variables_of_the_environment(monkeypatch, variable, text, key, value):
    monkeypatch.setenv(variable, text)
    assert _environment.default_settings()[key] == value


def test_wrong_variables(monkeypatch):
    monkeypatch.setenv('CHAINER_DEBUG', 'yes')
    with pytest.warns(UserWarning, match='CHAINER_DEBUG=yes is ignored'):
        assert _environment.default_settings()['debug'] is False
    for name in ('CHAINER_USE_CUDNN', 'CHAINER_DTYPE', 'CHAINER_USE_IDEEP'):
        with monkeypatch.context() as patch:
            patch.setenv(name, 'int8')
            with pytest.raises(TypeError, match=f"{name}='int8': it must be one of"):
                _environment.default_settings()


def test_runtime_info(capsys):
    chainer.print_runtime_info()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(':')[0] for line in lines if line[0] != ' '] == [
        'Platform', 'Python', 'Chainer', 'ChainerX', 'NumPy', 'CuPy', 'iDeep']
    assert f'NumPy: {np.__version__}' in lines
    file = io.StringIO()
    chainer.print_runtime_info(file)
    assert file.getvalue().splitlines() == lines


def test_static_threads():
    with chainer.using_config('static_threads', 3):
        assert _environment.OPTIONS.threads() == 3
    assert _environment.OPTIONS.threads() >= 1


@pytest.mark.parametrize('name, values, other', [
    ('static_budget', (None, 0, 0.5), ('much', -1, float('nan'))),
    ('static_check', ('spaced', 'first', 'always', 'never'), ('sometimes', None)),
    ('static_cuda_graphs', (True, False), ('no', None)),
    ('static_exact', (True, False, 1, np.bool_(False)), ('yes', None)),
    ('static_profile', (True, False), ('yes', 0.5)),
    ('static_step', (True, 0), ('yes',)),
    ('static_target', ('auto', 'numpy', 'native'), ('cpu', None)),
    ('static_threads', (None, 1, 8), (0, -3, '4', True, 2.)),
])
def test_values_that_have_no_meaning(name, values, other):
    before = getattr(chainer.config, name)
    for value in values:
        with chainer.using_config(name, value):
            assert getattr(chainer.config, name) is value
    for value in other:
        for config in (chainer.config, chainer.global_config):
            with pytest.raises(ValueError, match=rf'chainer.config.{name} must be .*, not '):
                setattr(config, name, value)
        with pytest.raises(ValueError), chainer.using_config(name, value):
            pass
        assert getattr(chainer.config, name) is before
