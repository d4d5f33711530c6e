"""Type checks; texts are compared in test_as_original.py, runs in test_function_node.py."""
import pickle
import threading

import numpy as np
import pytest

from chainer.utils import type_check as T


def types(*arrays):
    return T.get_types(arrays, 'in_types', False)


def test_descriptions():
    x, = types(np.zeros((2, 3), 'f'))
    info = x.eval()
    assert (info.shape, info.dtype, info.ndim, info.size) == ((2, 3), np.float32, 2, 6)
    light = T.get_light_types((np.zeros(2), np.zeros(3)))
    assert light.size() == 2 and light[1].shape == (3,)
    assert T.TypeInfo((), np.dtype('f')).size == 1


def test_missing_arrays():
    with pytest.raises(T.InvalidType, match=r'x\[1\] is None.*uninitialized'):
        T.get_types((np.zeros(1), None), 'x', False)
    assert T.get_types((None,), 'x', True)[0].dtype.eval() is None


def test_powers():
    n = T.Variable(3, 'n')
    for expression, text, value in (
            (2 ** n, '2 ** n', 8), (n ** 2, 'n ** 2', 9), ((-n) ** 2, '(-n) ** 2', 9),
            (-n ** 2, '-n ** 2', -9), (2 ** n ** 2, '2 ** n ** 2', 512),
            ((2 ** n) ** 2, '(2 ** n) ** 2', 64), (n - (n - 1), 'n - (n - 1)', 1)):
        assert str(expression) == text and expression.eval() == value


def test_brackets_of_attributes_and_calls():
    n = T.Variable((3, 4), 'n')
    assert str((n + (5,))[0]) == '(n + (5,))[0]' and (n + (5,))[2].eval() == 5
    assert str((n + n).count(3)) == '(n + n).count(3)' and (n + n).count(3).eval() == 2
    assert str(n[T.Variable(1, 'i')]) == 'n[i]' and n[T.Variable(1, 'i')].eval() == 4
    assert str(n[:, None, ...]) == 'n[:, None, ...]'


def test_no_truth_value():
    x, = types(np.zeros(1))
    with pytest.raises(RuntimeError, match=r'\(in_types\[0\].ndim == 1\) has no truth value'):
        bool(x.ndim == 1)


def test_expect_takes_comparisons_only():
    x, = types(np.zeros(1))
    T.expect()
    T.expect(True, x.ndim == 1, np.True_)
    with pytest.raises(TypeError, match='comparisons'):
        T.expect(x.ndim)
    with pytest.raises(T.InvalidType, match='a condition'):
        T.expect(False)


def test_conditions_are_tested_in_order():
    x, = types(np.zeros(1))
    with pytest.raises(T.InvalidType, match='ndim == 2'):
        T.expect(x.ndim == 2, x.shape[1] == 3)


def test_eval_takes_values():
    x, = types(np.zeros(4))
    assert T.eval(x.shape[0]) == 4 and T.eval(4) == 4


def test_pickles_of_errors():
    e = pickle.loads(pickle.dumps(T.InvalidType('a', 'b', 'message')))
    assert (str(e), e.expect, e.actual) == ('message', 'a', 'b')
    assert str(T.InvalidType('a', 'b')) == 'Expect: a\nActual: b'


def test_broadcasting():
    T.expect_broadcast_shapes((2, 3), (3,), (1, 1, 1))
    with pytest.raises(T.InvalidType) as caught:
        x, y = types(np.zeros((2, 3)), np.zeros(4))
        T.expect_broadcast_shapes(x.shape, y.shape)
    assert str(caught.value).splitlines()[1:] == [
        'in_types[0].shape = (2, 3)', 'in_types[1].shape = (4,)']


def test_names():
    both = types(np.zeros(1), np.zeros(2))
    T.argname(both, ('x', 'y'))
    assert str(both[1].shape) == 'y.shape'
    T.argname(T.get_light_types((1, 2)), ('x', 'y'))
    with pytest.raises(T.InvalidType, match=r'3 expected \(a, b, c\), 2 given'):
        T.argname(both, ('a', 'b', 'c'))


def test_light_mode_belongs_to_its_thread():
    seen = []

    class Function:
        label = 'F'

        def check_type_forward(self, in_types):
            thread = threading.Thread(target=lambda: seen.append(T.in_light_mode()))
            thread.start()
            thread.join()
            seen.append(T.in_light_mode())
            seen.append(T.make_variable(3, 'n'))

    T.check_forward(Function(), (np.zeros(1),))
    assert seen == [False, True, 3] and not T.in_light_mode()
