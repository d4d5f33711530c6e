"""Small trainings, iterations and datasets whose results are compared with Chainer's.

Each function of ``CASES`` returns something that JSON can hold. They run under Chainer 7.8.1
(Python 3.8, to record) and under the package of this project (to compare).
"""
import io
import os
import re
import shutil
import tempfile
import warnings

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import datasets, iterators, optimizers, training
from chainer.dataset import concat_examples
from chainer.training import extensions, triggers, updaters


class Model(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(2, 1, initialW=np.array([[0.5, -0.25]], np.float32))

    def forward(self, x, y):
        loss = F.mean_squared_error(self.l(x), y)
        chainer.report({'loss': loss}, self)
        return loss


def make_data(n):
    rs = np.random.RandomState(0)
    return datasets.TupleDataset(
        rs.rand(n, 2).astype(np.float32), rs.rand(n, 1).astype(np.float32))


def make_trainer(out, stop=(6, 'iteration'), batch_size=2, n=4, optimizer=None, shuffle=False,
                 **kwargs):
    model = Model()
    optimizer = optimizer or optimizers.SGD(0.1)
    optimizer.setup(model)
    iterator = iterators.SerialIterator(make_data(n), batch_size, shuffle=shuffle)
    updater = updaters.StandardUpdater(iterator, optimizer, **kwargs)
    return training.Trainer(updater, stop, out=out)


class Folder:
    """A folder for one case."""

    def __enter__(self):
        self.path = tempfile.mkdtemp()
        return self.path

    def __exit__(self, *args):
        shutil.rmtree(self.path)


def listed(value):
    if isinstance(value, (tuple, list)):
        return [listed(v) for v in value]
    if isinstance(value, dict):
        return {str(k): listed(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return value


def trace(iterator, n):
    rows = []
    for _ in range(n):
        try:
            batch = list(map(int, next(iterator)))
        except StopIteration:
            batch = 'stop'
        rows.append([batch, iterator.epoch, iterator.is_new_epoch, iterator.epoch_detail,
                     iterator.previous_epoch_detail, iterator.current_position])
    return rows


def iterate(cls, **kwargs):
    rows = []
    for repeat in True, False:
        for shuffle in None, True, False:
            for n, batch_size in (5, 2), (6, 3), (3, 8):
                np.random.seed(1)
                iterator = cls(list(range(n)), batch_size, repeat=repeat, shuffle=shuffle, **kwargs)
                rows.append(trace(iterator, 8))
                iterator.reset()
                rows.append(trace(iterator, 2))
                iterator.finalize()
    return rows


def serial_iterator():
    return iterate(iterators.SerialIterator)


def multithread_iterator():
    return iterate(iterators.MultithreadIterator, n_threads=2)


def order_samplers():
    calls = []

    def sampler(order, position):
        calls.append([order.tolist(), position])
        return np.roll(order, 1)

    iterator = iterators.SerialIterator(list('abc'), 8, order_sampler=sampler)
    next(iterator)
    next(iterator)
    np.random.seed(2)
    shuffle = iterators.ShuffleOrderSampler()(np.arange(6), 0).tolist()
    own = iterators.ShuffleOrderSampler(np.random.RandomState(3))(np.arange(6), 0).tolist()
    return [calls, shuffle, own]


def converters():
    three = np.arange(3, dtype=np.float32)
    two = np.arange(2, dtype=np.float64)
    results = []
    for batch, padding in [
            ([1, 2], None), ([1.5, 2], None), ([[1, 2], [3, 4]], None), ([(1, 2.5), (3, 4)], None),
            ([np.float32(1), np.float32(2)], None), ([{'a': 1, 'b': two}] * 2, None),
            ([three, two], 7), ([(three, 1), (two, 2)], 0), ([(three, two), (two, three)], (5, 6)),
            ([{'a': 1, 'b': three}, {'a': 2, 'b': two}], {'a': 0, 'b': 9}),
            ([np.ones((2, 3), np.int8), np.ones((3, 2), np.int8)], -1),
            ([np.array(1), np.array(2)], 0),
            ([True, False], None)]:
        converted = concat_examples(batch, padding=padding)
        parts = converted if isinstance(converted, tuple) else (
            converted.values() if isinstance(converted, dict) else [converted])
        results.append([type(converted).__name__, listed(converted),
                        [str(part.dtype) for part in parts]])
    return results


def splits():
    x = list(range(10))

    def show(parts):
        return [list(map(int, part[:])) for part in parts]

    return [
        show(datasets.split_dataset(x, 3)), show(datasets.split_dataset(x, 3, x[::-1])),
        show(datasets.split_dataset_random(x, 4, seed=99)), show(datasets.split_dataset_n(x, 4)),
        show(datasets.split_dataset_n_random(x, 3, seed=1)),
        [show(s) for s in datasets.get_cross_validation_datasets(x, 3)],
        [show(s) for s in datasets.get_cross_validation_datasets(x, 4, x[::-1])],
        [show(s) for s in datasets.get_cross_validation_datasets_random(x, 3, seed=0)],
    ]


class Updater:
    pass


class Trainer:
    def __init__(self):
        self.updater = Updater()


def fire(trigger, values=None, n=20, per_epoch=3.):
    """In which iterations a trigger fires."""
    trainer = Trainer()
    fired = []
    for i in range(n):
        trainer.updater.iteration = i + 1
        trainer.updater.epoch_detail = (i + 1) / per_epoch
        trainer.updater.previous_epoch_detail = i / per_epoch
        trainer.updater.epoch = int((i + 1) / per_epoch)
        trainer.observation = {} if values is None else {'loss': float(values[i])}
        trainer.elapsed_time = float(i + 1)
        if trigger(trainer):
            fired.append(i + 1)
    return fired


VALUES = [5, 4, 6, 3, 3, 2, 9, 9, 9, 1, 2, 3, 0, 0, 0, 8, 8, 8, 7, 7]


def interval_triggers():
    return [fire(triggers.IntervalTrigger(*args)) for args in [
        (1, 'iteration'), (3, 'iteration'), (2.5, 'iteration'), (1, 'epoch'), (0.5, 'epoch'),
        (0.1, 'epoch'), (2.5, 'epoch')]]


def manual_triggers():
    return [fire(triggers.ManualScheduleTrigger(*args)) for args in [
        ([2, 5], 'iteration'), (5, 'iteration'), ([1, 2.5], 'epoch'), (0.1, 'epoch')]]


def other_triggers():
    return [fire(triggers.TimeTrigger(3)), fire(triggers.TimeTrigger(0.4)),
            fire(triggers.OnceTrigger()), fire(triggers.OnceTrigger(call_on_resume=True))]


def value_triggers():
    fired = []
    for interval in (1, 'iteration'), (3, 'iteration'), (1, 'epoch'):
        fired.append(fire(triggers.MinValueTrigger('loss', interval), VALUES))
        fired.append(fire(triggers.MaxValueTrigger('loss', interval), VALUES))
        better = triggers.BestValueTrigger('loss', lambda best, new: new > best + 1, interval)
        fired.append(fire(better, VALUES))
    return fired


def early_stopping():
    fired = []
    for interval in (1, 'iteration'), (3, 'iteration'), (1, 'epoch'):
        for mode in 'auto', 'max':
            for last in 12, 100:
                fired.append(fire(triggers.EarlyStoppingTrigger(
                    interval, 'loss', patience=2, mode=mode, max_trigger=(last, 'iteration')),
                    VALUES))
    return fired


def shifts():
    rows = []
    for make in [
            lambda: extensions.ExponentialShift('lr', 0.5),
            lambda: extensions.ExponentialShift('lr', 0.5, init=1, target=0.2),
            lambda: extensions.ExponentialShift('lr', 2, init=1, target=9.),
            lambda: extensions.ExponentialShift('lr', 2, init=1, target=0.5),
            lambda: extensions.ExponentialShift('lr', 0.5, init=1, target=4.),
            lambda: extensions.InverseShift('lr', 0.5, 1.5),
            lambda: extensions.InverseShift('lr', 0.5, 1, target=0.05),
            lambda: extensions.InverseShift('lr', 0.5, -1, target=0.25),
            lambda: extensions.LinearShift('lr', (1, 2), (2, 6)),
            lambda: extensions.LinearShift('lr', (1, 2), (2, 2)),
            lambda: extensions.LinearShift('lr', (0.3, 0.1), (0, 7)),
            lambda: extensions.MultistepShift('lr', 0.5, [2, 5], 0.8),
            lambda: extensions.MultistepShift('lr', 0.3, [1], None),
            lambda: extensions.PolynomialShift('lr', 1.5, 5),
            lambda: extensions.PolynomialShift('lr', 0.5, 20, target=0.09),
            lambda: extensions.PolynomialShift('lr', -1, 20, target=0.12),
            lambda: extensions.StepShift('lr', 0.5, 3),
            lambda: extensions.StepShift('lr', 2, 3, init=0.1, target=0.3),
            lambda: extensions.StepShift('lr', 0.5, 3, init=0.1, target=0.03),
            lambda: extensions.WarmupShift('lr', 0.01, 4, 0.05)]:
        with Folder() as out:
            trainer = make_trainer(out, (8, 'iteration'))
            row = []
            optimizer = trainer.updater.get_optimizer('main')
            trainer.extend(make(), priority=50)
            trainer.extend(lambda t, o=optimizer, r=row: r.append(float(o.lr)), name='see')
            extend_before(trainer, lambda t, o=optimizer, r=row: r.append(float(o.lr)))
            trainer.run()
            rows.append(row)
    return rows


def extend_before(trainer, function):
    extension = training.make_extension(
        trigger=lambda t: False, initializer=function, priority=-1000)(lambda t: None)
    trainer.extend(extension, name='before')


def reported(trainer):
    """The observations of each iteration, at its end."""
    rows = []

    def see(trainer):
        rows.append({key: float(getattr(value, 'array', value))
                     for key, value in sorted(trainer.observation.items())})

    trainer.extend(see, name='see', priority=-1000)
    trainer.run()
    return rows


@training.make_extension(priority=300)
def report_values(trainer):
    i = trainer.updater.iteration
    chainer.report({'a': float(i), 'b': 2., 'big': 1234567. * i, 'tiny': 1e-9})
    if i % 2:
        chainer.report({'sometimes': i / 3.})


def log_files():
    def drop_time(entry):
        entry.pop('elapsed_time')
        entry['extra'] = 7

    with Folder() as out:
        trainer = make_trainer(out)
        trainer.extend(report_values)
        trainer.extend(extensions.LogReport(
            trigger=(1, 'iteration'), postprocess=drop_time, log_name='all'))
        trainer.extend(extensions.LogReport(
            ['main/loss', 'sometimes', 'missing'], (4, 'iteration'), drop_time,
            'log_{iteration}_{epoch}'))
        trainer.run()
        return {name: open(os.path.join(out, name)).read() for name in sorted(os.listdir(out))}


def log_keys():
    with Folder() as out:
        trainer = make_trainer(out)
        trainer.extend(extensions.LogReport(trigger=(3, 'iteration')))
        trainer.run()
        return [list(entry) for entry in trainer.get_extension('LogReport').log]


def print_report():
    texts = []
    for entries in (['epoch', 'iteration', 'main/loss', 'a', 'big', 'tiny', 'sometimes', 'missing',
                     'a_name/longer/than/ten'], ['a']):
        with Folder() as out:
            trainer = make_trainer(out)
            stream = io.StringIO()
            trainer.extend(report_values)
            trainer.extend(extensions.LogReport(trigger=(2, 'iteration')))
            trainer.extend(extensions.PrintReport(entries, out=stream))
            trainer.extend(extensions.PrintReport(
                entries, extensions.LogReport(trigger=(3, 'iteration')), out=stream))
            trainer.run()
            texts.append(stream.getvalue())
    return texts


def snapshot_names():
    with Folder() as out:
        trainer = make_trainer(out)
        model = trainer.updater.get_optimizer('main').target
        trainer.extend(extensions.snapshot(), trigger=(2, 'iteration'))
        trainer.extend(extensions.snapshot(filename='epoch_{.updater.epoch}'), trigger=(1, 'epoch'))
        trainer.extend(extensions.snapshot_object(model, 'model_{.updater.iteration}'),
                       trigger=(3, 'iteration'))
        trainer.run()
        return sorted(os.listdir(out))


def snapshot_keys():
    with Folder() as out:
        trainer = make_trainer(out, optimizer=optimizers.MomentumSGD(0.1))
        trainer.extend(extensions.LogReport(trigger=(2, 'iteration')))
        trainer.extend(extensions.ExponentialShift('lr', 0.9))
        trainer.extend(extensions.PlotReport(['main/loss']))
        trainer.extend(lambda t: None, name='best', trigger=triggers.MinValueTrigger('main/loss'))
        trainer.extend(lambda t: None, name='points',
                       trigger=triggers.ManualScheduleTrigger([1, 9], 'iteration'))
        trainer.extend(extensions.snapshot(), name='snapshot', trigger=(3, 'iteration'))
        trainer.run()
        with np.load(os.path.join(out, 'snapshot_iter_3')) as file:
            return sorted(file.files)


def losses():
    rows = []
    for kwargs in ({}, {'loss_scale': 128.}, {'loss_func': None}, {'device': -1}):
        with Folder() as out:
            np.random.seed(4)
            rows.append(reported(make_trainer(out, shuffle=True, **kwargs)))
    return rows


def parallel_updater():
    with Folder() as out:
        model = Model()
        optimizer = optimizers.SGD(0.1).setup(model)
        iterator = iterators.SerialIterator(make_data(5), 5, shuffle=False)
        updater = updaters.ParallelUpdater(
            iterator, optimizer, devices={'main': -1, 'second': -1, 'third': -1})
        trainer = training.Trainer(updater, (3, 'iteration'), out=out)
        return [reported(trainer), listed(model.l.W.array), listed(model.l.b.array)]


def evaluator():
    with Folder() as out:
        trainer = make_trainer(out)
        target = trainer.updater.get_optimizer('main').target
        iterator = iterators.SerialIterator(make_data(5), 2, repeat=False, shuffle=False)
        trainer.extend(extensions.Evaluator(iterator, target), trigger=(2, 'iteration'))
        trainer.extend(extensions.Evaluator(iterator, {'main': target, 'other': target}),
                       name='more', trigger=(3, 'iteration'))
        rows = reported(trainer)
        alone = extensions.Evaluator(iterator, target)()
        return [rows, listed(alone)]


def observations():
    with Folder() as out:
        trainer = make_trainer(out)
        trainer.extend(report_values)
        trainer.extend(extensions.observe_lr(), trigger=(1, 'iteration'))
        trainer.extend(extensions.observe_lr('main', 'rate'))
        trainer.extend(extensions.observe_value('ten', lambda t: t.updater.iteration * 10))
        trainer.extend(extensions.MicroAverage('a', 'b', 'ratio', (3, 'iteration')))
        trainer.extend(extensions.ExponentialShift('lr', 0.5))
        return reported(trainer)


def parameter_statistics():
    rows = []
    for kwargs in ({}, {'prefix': 'pre', 'report_grads': False},
                   {'report_params': False, 'trigger': (3, 'iteration')}):
        with Folder() as out:
            trainer = make_trainer(out)
            target = trainer.updater.get_optimizer('main').target
            target.name = 'net'
            trainer.extend(extensions.ParameterStatistics(target, **kwargs))
            rows.append(reported(trainer))
    return rows


def extension_names():
    with Folder() as out:
        trainer = make_trainer(out)
        target = trainer.updater.get_optimizer('main').target
        for extension in (
                extensions.LogReport(), extensions.LogReport(), report_values, report_values,
                extensions.observe_lr(), extensions.dump_graph('main/loss'),
                extensions.ParameterStatistics(target), extensions.FailOnNonNumber(),
                extensions.ProgressBar(out=io.StringIO())):
            trainer.extend(extension)
        trainer.extend(extensions.LogReport(), name='own')
        report_values.name = None
        return [[name, entry.priority] for name, entry in trainer._extensions.items()]


def call_order():
    calls = []

    class Recorder(training.Extension):
        def __init__(self, name, fail=False):
            self.label = name
            self.fail = fail

        def initialize(self, trainer):
            calls.append([self.label, 'initialize'])

        def __call__(self, trainer):
            calls.append([self.label, trainer.updater.iteration])
            if self.fail and trainer.updater.iteration == 2:
                raise KeyError('boo')

        def on_error(self, trainer, exc, tb):
            calls.append([self.label, repr(exc)])

        def finalize(self):
            calls.append([self.label, 'finalize'])

    with Folder() as out:
        trainer = make_trainer(out)
        for name, priority in ('a', 1), ('b', 5), ('c', 3), ('d', 5):
            trainer.extend(Recorder(name, name == 'c'), name=name, priority=priority)
        try:
            trainer.run(show_loop_exception_msg=False)
        except KeyError:
            calls.append('raised')
    return calls


CASES = [
    serial_iterator, multithread_iterator, order_samplers, converters, splits, interval_triggers,
    manual_triggers, other_triggers, value_triggers, early_stopping, shifts, log_files, log_keys,
    print_report, snapshot_names, snapshot_keys, losses, parallel_updater, evaluator, observations,
    parameter_statistics, extension_names, call_order,
]


def run(case):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return case()


def progress_text(out):
    """What a ProgressBar of length 20 writes to a terminal, without the speed."""
    with Folder() as folder:
        trainer = make_trainer(folder, (2, 'epoch'))
        trainer.extend(extensions.ProgressBar(update_interval=2, bar_length=20, out=out))
        trainer.extend(extensions.ProgressBar((3, 'iteration'), 1, 10, out))
        trainer.run()
    return re.sub('.*iters/sec.*', '<speed>', out.getvalue())
