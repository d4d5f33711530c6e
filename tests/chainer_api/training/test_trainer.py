"""The loop: names, errors, and resuming as if it had never stopped."""
import io
import json
import os
import pathlib
import sys
import warnings

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import datasets, iterators, optimizers, serializers, training
from chainer.training import extensions, triggers, updaters

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden'
sys.path.insert(0, str(GOLDEN))

from training_cases import make_data, make_trainer  # noqa: E402


def test_attributes(tmp_path):
    trainer = make_trainer(str(tmp_path / 'new' / 'folder'), (3, 'iteration'))
    assert trainer.out == str(tmp_path / 'new' / 'folder') and trainer.observation == {}
    assert isinstance(trainer.reporter, chainer.Reporter)
    assert isinstance(trainer.stop_trigger, triggers.IntervalTrigger)
    assert trainer.is_before_training
    with pytest.raises(RuntimeError, match='training has not been started yet'):
        trainer.elapsed_time  # noqa: B018
    trainer.run()
    assert os.path.isdir(trainer.out) and trainer.updater.iteration == 3
    assert not trainer.is_before_training
    assert trainer.elapsed_time == trainer.elapsed_time > 0
    with pytest.raises(RuntimeError, match='cannot run training loop multiple times'):
        trainer.run()


def test_default_is_never_to_stop(tmp_path):
    trainer = make_trainer(str(tmp_path), None)

    def stop(trainer):
        if trainer.updater.iteration == 9:
            raise StopIteration

    trainer.extend(stop)
    with pytest.raises(StopIteration):
        trainer.run(show_loop_exception_msg=False)


@pytest.mark.parametrize('stop, told', [
    ((3, 'iteration'), [3, 2, 1]),
    ((1.5, 'epoch'), [3, 2, 1]),
    (triggers.EarlyStoppingTrigger(max_trigger=(3, 'iteration')), [3, 2, 1]),
    (lambda trainer: trainer.updater.iteration == 3, [None] * 3),
], ids=['iterations', 'epochs', 'early stopping', 'function'])
def test_what_is_left_is_told(tmp_path, stop, told):
    """Compiled methods are compiled if that pays in what is left."""
    found = []

    def loss(*args):
        loop = chainer._tracing.state.loop
        found.append((loop.done(), loop.left()))
        return trainer.updater.get_optimizer('main').target(*args)

    trainer = make_trainer(str(tmp_path), stop, loss_func=loss)
    trainer.run()
    assert chainer._tracing.state.loop is None
    assert found == [*enumerate(told)]


def test_nothing_is_told_once_a_training_has_failed(tmp_path):
    trainer = make_trainer(str(tmp_path), (3, 'iteration'))

    def fail():
        raise ValueError

    trainer.updater.update_core = fail
    with pytest.raises(ValueError):
        trainer.run(show_loop_exception_msg=False)
    assert chainer._tracing.state.loop is None


def test_finalizers_with_and_without_the_trainer(tmp_path):
    trainer = make_trainer(str(tmp_path))
    calls = []
    for name, finalizer in ('a', lambda: calls.append('a')), ('b', calls.append):
        trainer.extend(training.make_extension(finalizer=finalizer)(lambda t: None), name=name)
    trainer.run()
    assert calls == ['a', trainer]


class TestExtend:

    def test_where_the_name_comes_from(self, tmp_path):
        trainer = make_trainer(str(tmp_path))

        class Named(training.Extension):
            name = 'own'

        class Unnamed:
            def __call__(self, trainer):
                pass

        trainer.extend(Named())
        trainer.extend(Named(), name='given')
        trainer.extend(extensions.LogReport())
        trainer.extend(extensions.LogReport())
        trainer.extend(lambda trainer: None)
        trainer.extend(self.test_where_the_name_comes_from)  # a bound method
        assert list(trainer._extensions) == [
            'own', 'given', 'LogReport', 'LogReport_1', '<lambda>',
            'test_where_the_name_comes_from']
        assert trainer.get_extension('LogReport_1').name == 'LogReport_1'
        with pytest.raises(TypeError, match='name is not given'):
            trainer.extend(Unnamed())
        with pytest.raises(ValueError, match='"training" is prohibited'):
            trainer.extend(Unnamed(), name='training')
        with pytest.raises(ValueError, match='extension x not found; there are: own, given'):
            trainer.get_extension('x')

    def test_arguments(self, tmp_path):
        trainer = make_trainer(str(tmp_path))
        with pytest.raises(ValueError, match='invoke_before_training has been removed'):
            trainer.extend(print, invoke_before_training=True)
        with pytest.raises(TypeError, match='unexpected arguments: foo'):
            trainer.extend(print, foo=1)
        with pytest.raises(ValueError, match='invoke_before_training has been removed'):
            training.make_extension(invoke_before_training=True)
        with pytest.raises(TypeError, match='unexpected arguments: foo'):
            training.make_extension(foo=1)

    def test_triggers_and_call_before_training(self, tmp_path):
        trainer = make_trainer(str(tmp_path), (6, 'iteration'))
        seen = {name: [] for name in 'abcd'}

        def recorder(name):
            return lambda trainer: seen[name].append(trainer.updater.iteration)

        trainer.extend(recorder('a'), trigger=(2, 'iteration'))
        trainer.extend(recorder('b'), trigger=(1, 'epoch'), call_before_training=True)
        trainer.extend(recorder('c'), trigger=lambda trainer: trainer.updater.iteration == 5)
        extension = training.make_extension((3, 'iteration'))(recorder('d'))
        trainer.extend(extension)
        trainer.run()
        assert seen == {'a': [2, 4, 6], 'b': [0, 2, 4, 6], 'c': [5], 'd': [3, 6]}

    def test_extensions_given_to_the_constructor(self, tmp_path):
        updater = make_trainer(str(tmp_path)).updater
        trainer = training.Trainer(updater, extensions=[extensions.LogReport()])
        assert trainer.get_extension('LogReport') and trainer.out == 'result'


def test_extension_must_be_callable():
    with pytest.raises(NotImplementedError, match='Extension must define __call__'):
        training.Extension()(None)


def test_message_of_an_exception(tmp_path, capsys):
    trainer = make_trainer(str(tmp_path))

    def fail(trainer):
        raise ValueError('too bad')

    trainer.extend(fail)
    with pytest.raises(ValueError, match='too bad'):
        trainer.run()
    shown = capsys.readouterr().err
    assert shown.startswith('Exception in main training loop: too bad\nTraceback (most recent')
    assert 'in fail' in shown
    assert shown.endswith('Will finalize trainer extensions and updater before reraising the '
                          'exception.\n')


def test_ctrl_c_finalizes_everything(tmp_path, capsys):
    trainer = make_trainer(str(tmp_path))
    finalized = []

    @training.make_extension(finalizer=lambda: finalized.append('extension'))
    def interrupt(trainer):
        raise KeyboardInterrupt

    trainer.extend(interrupt)
    trainer.updater.finalize = lambda: finalized.append('updater')
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert finalized == ['extension', 'updater'] and capsys.readouterr().err == ''


class Classifier(chainer.Chain):
    """A network with everything that has a state: dropout, statistics, lazy shapes."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, 6)
            self.bn = L.BatchNormalization(6)
            self.l2 = L.Linear(6, 3)

    def forward(self, x, t):
        h = F.dropout(F.relu(self.bn(self.l1(x))), 0.3)
        y = self.l2(h)
        loss = F.softmax_cross_entropy(y, t)
        chainer.report({'loss': loss, 'accuracy': F.accuracy(y, t)}, self)
        return loss


ITERATORS = {
    'serial': iterators.SerialIterator,
    'threads': lambda *args, **kw: iterators.MultithreadIterator(*args, n_threads=2, **kw),
    'processes': lambda *args, **kw: iterators.MultiprocessIterator(*args, n_processes=2, **kw),
}


def full_trainer(out, iterator='serial', stop=12):
    """A training with every kind of extension that has a state."""
    rs = np.random.RandomState(1)
    data = datasets.TupleDataset(
        rs.rand(20, 4).astype(np.float32), rs.randint(0, 3, 20).astype(np.int32))
    np.random.seed(3)
    model = Classifier()
    optimizer = optimizers.Adam(0.01).setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(1e-3))
    updater = updaters.StandardUpdater(ITERATORS[iterator](data, 7), optimizer)
    trainer = training.Trainer(updater, (stop, 'iteration'), out=out)
    validation = iterators.SerialIterator(data, 8, repeat=False, shuffle=False)
    trainer.extend(extensions.Evaluator(validation, model), trigger=(1, 'epoch'))
    trainer.extend(extensions.observe_value(
        'alpha', lambda trainer: trainer.updater.get_optimizer('main').alpha))
    trainer.extend(extensions.ExponentialShift('alpha', 0.9), trigger=(2, 'iteration'))
    trainer.extend(extensions.LinearShift('beta1', (0.9, 0.5), (2, 9)))
    trainer.extend(extensions.MicroAverage(
        'main/accuracy', 'main/loss', 'ratio', (5, 'iteration')))
    trainer.extend(extensions.ParameterStatistics(model.l2, trigger=(5, 'iteration')))
    trainer.extend(extensions.LogReport(trigger=(1, 'iteration'), log_name='each'), name='each')
    trainer.extend(extensions.LogReport(trigger=(5, 'iteration')))
    trainer.extend(extensions.PlotReport(
        ['main/loss', 'ratio'], trigger=(5, 'iteration')), name='plot')
    trainer.extend(extensions.VariableStatisticsPlot(model.l2, trigger=(7, 'iteration')),
                   name='statistics')
    for name, trigger in [
            ('best', triggers.MinValueTrigger('main/loss', (3, 'iteration'))),
            ('points', triggers.ManualScheduleTrigger([2, 6, 7, 11], 'iteration')),
            ('epochs', triggers.ManualScheduleTrigger([0.5, 2.5], 'epoch')),
            ('early', triggers.EarlyStoppingTrigger(
                (1, 'iteration'), 'main/loss', 2, max_trigger=(9, 'iteration'))),
            ('once', triggers.OnceTrigger())]:
        trainer.extend(lambda t, name=name: t.fired.append((name, t.updater.iteration)),
                       name=name, trigger=trigger)
    # Behind the snapshot in each iteration
    trainer.extend(lambda t: t.fired.append(('late', t.updater.iteration)), name='late',
                   trigger=(2, 'iteration'), priority=-200)
    trainer.fired = []
    return trainer


def state_of(trainer):
    """Everything that a training leaves behind, but for times."""
    for name in 'each', 'LogReport':
        for entry in trainer.get_extension(name).log:
            entry.pop('elapsed_time', None)
    state = {
        'each': trainer.get_extension('each').log, 'log': trainer.get_extension('LogReport').log,
        'plot': trainer.get_extension('plot')._data,
        'statistics': np.array(trainer.get_extension('statistics')._samples).tolist(),
        'alpha': trainer.updater.get_optimizer('main').alpha,
        'random': np.random.rand(), 'fired': trainer.fired}
    serializer = serializers.DictionarySerializer()
    serializer.save(trainer.updater)
    for key, array in serializer.target.items():
        state[key] = array.tolist()
    return json.loads(json.dumps(state))


@pytest.mark.parametrize('iterator', ITERATORS)
def test_resumed_training_is_the_training_that_never_stopped(tmp_path, iterator, monkeypatch):
    pytest.importorskip('matplotlib')
    # Drawing takes most of the time, and has tests of its own.
    monkeypatch.setattr(extensions.PlotReport, '_plot', lambda *args: None)
    monkeypatch.setattr(
        extensions.VariableStatisticsPlot, 'save_plot_using_module',
        lambda self, path, plt: open(path, 'w').close())

    def make(out, stop=12):
        trainer = full_trainer(str(tmp_path / out), iterator, stop)
        trainer.extend(extensions.snapshot(random_state=True), trigger=(1, 'iteration'))
        return trainer

    whole = make('whole')
    whole.run()
    expected = state_of(whole)
    for stop in range(1, 12):
        resumed = make('resumed')
        np.random.seed(stop)  # whatever happened in the new process
        serializers.load_npz(tmp_path / 'whole' / f'snapshot_iter_{stop}', resumed)
        # (What fired before the snapshot, the process that stopped has seen.)
        resumed.fired = [f for f in whole.fired if f[1] <= stop]
        resumed.run()
        got = state_of(resumed)
        for key, value in expected.items():
            assert got[key] == value or value != value, (stop, key)


def test_elapsed_time_goes_on(tmp_path):
    trainer = make_trainer(str(tmp_path), (2, 'iteration'))
    trainer.run()
    serializers.save_npz(tmp_path / 'state', trainer)
    other = make_trainer(str(tmp_path), (3, 'iteration'))
    serializers.load_npz(tmp_path / 'state', other)
    other.run()
    assert other.elapsed_time > trainer.elapsed_time


def test_longer_training_from_a_finished_one(tmp_path):
    trainer = make_trainer(str(tmp_path), (3, 'iteration'))
    trainer.extend(extensions.LogReport(trigger=(1, 'iteration')))
    trainer.run()
    serializers.save_npz(tmp_path / 'state', trainer)
    for stop, iterations in (3, 3), (5, 5):
        other = make_trainer(str(tmp_path), (stop, 'iteration'))
        other.extend(extensions.LogReport(trigger=(1, 'iteration')))
        serializers.load_npz(tmp_path / 'state', other)
        other.run()
        assert other.updater.iteration == iterations
        assert len(other.get_extension('LogReport').log) == iterations


def test_trainer_can_be_saved_before_it_runs(tmp_path):
    trainer = make_trainer(str(tmp_path))
    trainer.extend(extensions.ExponentialShift('lr', 0.5))
    serializers.save_npz(tmp_path / 'state', trainer)
    serializers.load_npz(tmp_path / 'state', trainer)
    trainer.run()
    assert trainer.updater.get_optimizer('main').lr == 0.1 * 0.5 ** 6


def test_two_shifts_of_one_attribute_resume(tmp_path):
    """The one that is initialized last must not undo what the other did last."""
    def make(stop):
        trainer = make_trainer(str(tmp_path), (stop, 'iteration'))
        trainer.extend(extensions.ExponentialShift('lr', 0.5), trigger=(3, 'iteration'))
        trainer.extend(extensions.WarmupShift('lr', 0.01, 2, None), trigger=(1, 'iteration'))
        trainer.rates = []
        trainer.extend(lambda t: t.rates.append(t.updater.get_optimizer('main').lr), name='see')
        return trainer

    whole = make(8)
    whole.run()
    for stop in range(1, 8):
        first = make(stop)
        first.run()
        serializers.save_npz(tmp_path / 'state', first)
        second = make(8)
        serializers.load_npz(tmp_path / 'state', second)
        second.run()
        assert first.rates + second.rates == whole.rates


def test_snapshot_of_chainer_without_our_extra_state(tmp_path):
    """What Chainer does not save is missing in its snapshots: those parts start anew."""
    trainer = full_trainer(str(tmp_path), stop=3)
    trainer.run()
    serializer = serializers.DictionarySerializer()
    serializer.save(trainer)
    extra = ('early/', 'statistics/', 'plot/_summary', 'plot/_trigger', '_init',
             'MicroAverage/_trigger', 'parameter_statistics/_')
    kept = {key: value for key, value in serializer.target.items()
            if not any(part in key for part in extra) or '/optimizer' in key
            or key.startswith('extension_triggers/') and 'early' not in key}
    assert len(kept) < len(serializer.target)
    other = full_trainer(str(tmp_path), stop=6)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        serializers.NpzDeserializer(kept).load(other)
    assert any('EarlyStoppingTrigger' in str(warning.message) for warning in caught)
    other.run()
    assert other.updater.iteration == 6
    assert len(other.get_extension('each').log) == 6


def test_observers_are_named_after_optimizers_and_links(tmp_path):
    rows = []

    class Inner(chainer.Link):
        def forward(self, x):
            chainer.report({'inner': x}, self)
            return x

    class Outer(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.w = chainer.Parameter(np.ones(1, np.float32))
                self.part = Inner()

        def forward(self, x):
            chainer.report({'free': 3})
            return F.sum(self.part(x * self.w))

    model = Outer()
    optimizer = optimizers.SGD().setup(model)
    iterator = iterators.SerialIterator(np.ones((4, 1), np.float32), 2)
    updater = updaters.StandardUpdater({'main': iterator}, {'main': optimizer, 'copy': optimizer})
    trainer = training.Trainer(updater, (1, 'iteration'), str(tmp_path))
    trainer.extend(lambda t: rows.append(sorted(t.observation)), name='see')
    trainer.run()
    assert rows == [['copy/part/inner', 'free']] or rows == [['free', 'main/part/inner']]


def test_log_of_a_bytes_stream_is_text(tmp_path):
    trainer = make_trainer(str(tmp_path), (2, 'iteration'))
    trainer.extend(extensions.LogReport(trigger=(1, 'iteration')))
    stream = io.StringIO()
    trainer.extend(extensions.PrintReport(['iteration'], out=stream))
    trainer.run()
    entries = json.loads((tmp_path / 'log').read_text())
    assert [entry['iteration'] for entry in entries] == [1, 2]
    assert len(make_data(3)) == 3 and stream.getvalue().count('\n') == 3


class Handler(training.Extension):
    """Takes down the errors it is told of; ``fail`` makes it raise one itself."""

    def __init__(self, fail=False):
        self.fail = fail
        self.seen = []

    def __call__(self, trainer):
        pass

    def on_error(self, trainer, exception, traceback):
        self.seen.append(type(exception))
        if self.fail:
            raise KeyError('in the handler')


def test_error_in_an_error_handler(tmp_path):
    # As in 7.8.1: the first error comes out, and the other handlers are called.
    trainer = make_trainer(str(tmp_path), (2, 'iteration'))
    handlers = [Handler(fail=True), Handler(), Handler(fail=True)]
    for i, handler in enumerate(handlers):
        trainer.extend(handler, name=str(i), priority=300 - i)

    def bad(trainer):
        raise ValueError('the first')

    trainer.extend(bad, trigger=(1, 'iteration'))
    with pytest.raises(ValueError, match='the first') as caught:
        trainer.run(show_loop_exception_msg=False)
    assert [handler.seen for handler in handlers] == [[ValueError]] * 3
    assert sum('in the handler' in note for note in caught.value.__notes__) == 2
