"""Function hooks; what they print is compared with the original in test_as_original.py."""
import io
import threading

import numpy as np
import pytest

import chainer
import chainer.functions as F
from chainer import function_hooks
from chainer.function_hooks import _report


def ones(*shape):
    return chainer.Variable(np.ones(shape, np.float32))


class Count(chainer.FunctionHook):
    name = 'Count'

    def __init__(self):
        self.calls = 0

    def forward_preprocess(self, function, in_data):
        self.calls += 1


def test_base_class_does_nothing():
    with chainer.FunctionHook() as hook:
        (ones(1) * 2).backward()
    assert hook.name == 'FunctionHook'


def test_hooks_belong_to_their_thread():
    with Count() as hook:
        thread = threading.Thread(target=lambda: ones(1) + 1)
        thread.start()
        thread.join()
        assert hook.calls == 0
        ones(1) + 1
    assert hook.calls == 1 and not chainer.get_function_hooks()


def test_hook_is_taken_off_after_an_exception():
    with pytest.raises(KeyError), Count():
        raise KeyError
    assert not chainer.get_function_hooks()


def test_two_hooks_of_one_name():
    with Count(), pytest.raises(KeyError, match='already registered in this thread'), Count():
        pass
    assert not chainer.get_function_hooks()


def test_hook_of_an_old_style_function():
    class Double(chainer.Function):
        def forward(self, inputs):
            return inputs[0] * 2,

    f, hook = Double(), Count()
    f.add_hook(hook)
    assert f.local_function_hooks == {'Count': hook}
    y = f(ones(1))
    assert hook.calls == 1 and y.creator_node.local_function_hooks['Count'] is hook
    f.delete_hook('Count')
    assert not f.local_function_hooks


def test_timer_hook():
    hook = function_hooks.TimerHook()
    with hook:
        y = F.sum(ones(3) * 2)
        y.backward()
    assert [name for name, _ in hook.call_history] == [
        'MulConstant', 'Sum', 'BroadcastTo', 'Sum', 'MulConstant', 'MulConstant']
    assert all(seconds > 0 for _, seconds in hook.call_history)
    summary = hook.summary()
    assert summary['MulConstant']['occurrence'] == 3
    assert summary['Sum']['elapsed_time'] == sum(
        seconds for name, seconds in hook.call_history if name == 'Sum')
    # A backward computation includes the functions that it applies.
    assert 0 < hook.total_time() < sum(seconds for _, seconds in hook.call_history)


def test_timer_report(capsys):
    hook = function_hooks.TimerHook()
    hook.call_history = [('LinearFunction', 1.24), ('ReLU', 0.59305), ('ReLU', 3e-6)]
    hook.print_report()
    assert capsys.readouterr().out.splitlines() == [
        '  FunctionName  ElapsedTime  Occurrence',
        'LinearFunction      1.24sec           1',
        '          ReLU     593.05ms           2']
    file = io.StringIO()
    hook.print_report(file, unit='us')
    assert file.getvalue().splitlines()[1:] == [
        'LinearFunction  1240000.00us           1', '          ReLU   593053.00us           2']
    for unit, times in (('auto', '1.24sec 0.59sec'), ('auto_foreach', '1.24sec 593.05ms')):
        file = io.StringIO()  # as in 7.8.1; 5.4 has no argument, and takes one for each
        hook.print_report(file, unit=unit)
        assert [line.split()[1] for line in file.getvalue().splitlines()[1:]] == times.split()
    with pytest.raises(ValueError, match="unknown unit 'h'.*sec, ms, us, ns"):
        hook.print_report(unit='h')


def test_units_that_fit():
    units = {'MB': 1024. ** 2, 'KB': 1024., 'B': 1.}
    assert [_report.with_unit(v, units) for v in (0, 1, 1023, 1024, 3.5 * 1024 ** 2)] == [
        '0.00B', '1.00B', '1023.00B', '1.00KB', '3.50MB']


def test_print_hook_writes_to_standard_output(capsys):
    a, b = F.split_axis(ones(2), 2, 0)
    with function_hooks.PrintHook():
        a.backward()
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ['function\tSplitAxis', 'input data'] and lines.count('(None)') == 1


@pytest.mark.skipif(chainer.backends.cuda.available, reason='there is a GPU')
@pytest.mark.parametrize('hook', ['CUDAProfileHook', 'CupyMemoryProfileHook'])
def test_hooks_for_gpus(hook):
    with pytest.raises(RuntimeError, match='CUDA is not available'):
        getattr(function_hooks, hook)()


@pytest.mark.skipif(not chainer.backends.cuda.available, reason='no GPU')
def test_memory_profile():
    hook = function_hooks.CupyMemoryProfileHook()
    x = ones(1000)
    x.to_gpu()
    with hook:
        x * 2
    record = hook.summary()['MulConstant']
    assert record['occurrence'] == 1 and record['used_bytes'] >= 4000
    assert hook.total_used_bytes() == record['used_bytes']
    assert hook.total_acquired_bytes() == record['acquired_bytes']
    file = io.StringIO()
    hook.print_report(file)
    assert 'UsedBytes' in file.getvalue()
    with function_hooks.CUDAProfileHook():
        x * 2
