"""Snapshots: names, writers, and that nothing is lost whenever the process dies."""
import functools
import json
import multiprocessing
import os
import pathlib
import queue
import random
import signal
import sys
import threading
import time
import zipfile

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import iterators, optimizers, serializers, training
from chainer.training import extensions
from chainer.training.extensions import _snapshot, snapshot_writers

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden'
sys.path.insert(0, str(GOLDEN))

from training_cases import make_data, make_trainer  # noqa: E402


def run(out, stop, *args, trigger=(1, 'iteration'), **kwargs):
    trainer = make_trainer(str(out), (stop, 'iteration'))
    trainer.extend(extensions.snapshot(*args, **kwargs), trigger=trigger)
    trainer.run(show_loop_exception_msg=False)
    return trainer


def model_of(trainer):
    return trainer.updater.get_optimizer('main').target


def test_names_and_defaults():
    extension = extensions.snapshot()
    assert (extension.default_name, extension.trigger, extension.priority) == (
        'snapshot', (1, 'epoch'), -100)
    extension = extensions.snapshot_object(chainer.Link(), 'x')
    assert (extension.default_name, extension.trigger, extension.priority) == (
        'snapshot_object', (1, 'epoch'), -100)
    for make in extensions.snapshot, lambda **kw: extensions.snapshot_object(None, 'x', **kw):
        with pytest.raises(TypeError, match='savefun and writer arguments cannot be specified'):
            make(savefun=serializers.save_hdf5, writer=snapshot_writers.SimpleWriter())


def test_savefun_gets_the_object(tmp_path):
    seen = []

    def save(path, obj):
        seen.append(obj)
        with open(path, 'w') as file:
            file.write('x')

    trainer = make_trainer(str(tmp_path), (1, 'iteration'))
    model = model_of(trainer)
    trainer.extend(extensions.snapshot(save, 'whole'), trigger=(1, 'iteration'))
    trainer.extend(extensions.snapshot_object(model, 'sub/{.updater.iteration}', savefun=save),
                   trigger=(1, 'iteration'))
    trainer.extend(extensions.snapshot(
        save, lambda trainer: f'n{trainer.updater.iteration}', target=model), name='function',
        trigger=(1, 'iteration'))
    trainer.run()
    assert seen == [trainer, model, model]
    assert sorted(os.listdir(tmp_path)) == ['n1', 'sub', 'whole']
    assert os.listdir(tmp_path / 'sub') == ['1']


def test_hdf5(tmp_path):
    pytest.importorskip('h5py')
    trainer = run(tmp_path, 2, serializers.save_hdf5)
    other = make_trainer(str(tmp_path))
    other.extend(extensions.snapshot())
    serializers.load_hdf5(str(tmp_path / 'snapshot_iter_2'), other)
    np.testing.assert_array_equal(model_of(other).l.W.array, model_of(trainer).l.W.array)


def test_condition_and_error(tmp_path):
    run(tmp_path, 3, condition=lambda: False)
    assert os.listdir(tmp_path) == []
    answers = iter([True, False, True])
    run(tmp_path, 3, condition=lambda: next(answers))
    assert sorted(os.listdir(tmp_path)) == ['snapshot_iter_1', 'snapshot_iter_3']

    trainer = make_trainer(str(tmp_path), (9, 'iteration'))
    trainer.extend(extensions.snapshot(snapshot_on_error=True), trigger=(7, 'iteration'))
    trainer.extend(lambda trainer: 1 // (trainer.updater.iteration - 5), name='fail')
    with pytest.raises(ZeroDivisionError):
        trainer.run(show_loop_exception_msg=False)
    assert 'snapshot_iter_5' in os.listdir(tmp_path)


def test_failing_save_leaves_the_good_file(tmp_path):
    run(tmp_path, 1, filename='state')
    good = (tmp_path / 'state').read_bytes()

    def save(path, obj):
        with open(path, 'w') as file:
            file.write('half of it')
        raise OSError('disk full')

    with pytest.raises(OSError, match='disk full'):
        run(tmp_path, 1, save, 'state')
    assert os.listdir(tmp_path) == ['state'] and (tmp_path / 'state').read_bytes() == good


def test_on_the_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    events = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, 'fsync', lambda descriptor: (
        events.append(os.path.basename(os.readlink(f'/proc/self/fd/{descriptor}'))),
        fsync(descriptor)))
    monkeypatch.setattr(os, 'replace', lambda a, b: (events.append('rename'), replace(a, b)))
    if not os.path.isdir('/proc/self/fd'):
        pytest.skip('looks into /proc')
    run(tmp_path, 1, lambda path, obj: open(path, 'w').close())
    assert events == ['snapshot_iter_1', 'rename', tmp_path.name]
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / 'snapshot_iter_1').stat().st_mode & 0o777 == 0o666 & ~umask


class TestAutoload:

    def test_newest(self, tmp_path):
        first = run(tmp_path, 4)
        second = run(tmp_path, 6, autoload=True)
        whole = run(tmp_path / 'whole', 6)
        np.testing.assert_array_equal(model_of(second).l.W.array, model_of(whole).l.W.array)
        assert first.updater.iteration == 4 and second.updater.iteration == 6
        again = run(tmp_path, 6, autoload=True)
        np.testing.assert_array_equal(model_of(again).l.W.array, model_of(whole).l.W.array)

    def test_nothing_there(self, tmp_path):
        (tmp_path / 'snapshot_iter_x').mkdir()
        assert run(tmp_path, 2, autoload=True).updater.iteration == 2

    def test_damaged_ones_are_passed_over(self, tmp_path):
        run(tmp_path, 3)
        later = time.time() + 100
        content = (tmp_path / 'snapshot_iter_3').read_bytes()
        for i, damaged in enumerate([b'', b'junk', content[:-50], content[:200]]):
            path = tmp_path / f'snapshot_iter_{10 + i}'
            path.write_bytes(damaged)
            os.utime(path, (later + i, later + i))
        with pytest.warns(UserWarning, match='is no npz file or is damaged') as caught:
            run(tmp_path, 4, autoload=True)
        assert len(caught) == 4
        with np.load(tmp_path / 'snapshot_iter_4') as file:
            assert file['updater/optimizer:main/t'] == 4

    def test_all_damaged(self, tmp_path):
        (tmp_path / 'snapshot_iter_1').write_bytes(b'junk')
        with pytest.warns(UserWarning), pytest.raises(ValueError, match='none of the 1 snapshots'):
            run(tmp_path, 2, autoload=True)

    def test_foreign_ones_are_passed_over(self, tmp_path):
        """Whole npz files of something else: nothing of them stays in the trainer."""
        def make(width, stop):
            optimizer = optimizers.Adam().setup(Lazy(width))
            updater = training.StandardUpdater(
                iterators.SerialIterator(make_data(4), 2), optimizer)
            trainer = training.Trainer(updater, (stop, 'iteration'), out=str(tmp_path))
            trainer.extend(extensions.snapshot(autoload=True), trigger=(stop, 'iteration'))
            return trainer

        first = make(5, 2)
        first.run()
        later = time.time() + 100
        another = make(7, 6)
        another.get_extension('snapshot').autoload = False
        another.run()
        np.savez(tmp_path / 'snapshot_iter_7.npz', x=np.zeros(3))
        os.rename(tmp_path / 'snapshot_iter_7.npz', tmp_path / 'snapshot_iter_7')
        for name in 'snapshot_iter_6', 'snapshot_iter_7':
            os.utime(tmp_path / name, (later, later))
        resumed = make(5, 2)
        with pytest.warns(UserWarning, match='cannot be loaded') as caught:
            resumed.run()
        messages = [str(warning.message) for warning in caught]
        assert [message.split()[0] for message in messages] == [
            str(tmp_path / 'snapshot_iter_7'), str(tmp_path / 'snapshot_iter_6')]
        assert "there is no 'updater/" in messages[0] and 'has shape (7,)' in messages[1]
        for a, b in zip(model_of(resumed).params(), model_of(first).params(), strict=True):
            np.testing.assert_array_equal(a.array, b.array)
        assert resumed.updater.iteration == 2

    def test_object(self, tmp_path):
        model = model_of(run(tmp_path, 1))
        serializers.save_npz(tmp_path / 'model_7', model)
        trainer = make_trainer(str(tmp_path), lambda trainer: True)
        fresh = model_of(trainer)
        trainer.extend(extensions.snapshot_object(
            fresh, 'model_{.updater.iteration}', autoload=True))
        trainer.run()
        np.testing.assert_array_equal(fresh.l.W.array, model.l.W.array)

    def test_needs_a_format_string(self, tmp_path):
        with pytest.raises(TypeError, match='need a format string'):
            run(tmp_path, 1, filename=lambda trainer: 'x', autoload=True)

    def test_names_are_taken_literally(self, tmp_path):
        for name in 'a.1', 'ab1', 'a.', 'xa.1':
            (tmp_path / name).write_bytes(b'')
        extension = extensions.snapshot(filename='a.{.updater.iteration}')
        assert _snapshot._find_latest_snapshot(extension._format(), tmp_path) == 'a.1'

    def test_order_of_files_of_one_moment(self, tmp_path):
        for i in (9, 10, 8):
            (tmp_path / f's_{i}').write_bytes(b'')
            os.utime(tmp_path / f's_{i}', (5, 5))
        assert [name for _, name in _snapshot._find_snapshot_files('s_{}', tmp_path)] == [
            's_8', 's_9', 's_10']


class Lazy(chainer.Chain):
    """Its parameters take their shapes from the first input, or from a file."""

    def __init__(self, width):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(None, width)
            self.b = L.Linear(None, width + 1)

    def forward(self, x, t):
        return F.mean(self.b(self.a(x)))


WRITERS = ['SimpleWriter', 'ThreadWriter', 'ProcessWriter', 'ThreadQueueWriter',
           'ProcessQueueWriter']


@pytest.mark.parametrize('name', [None, *WRITERS])
class TestWriters:

    def writer(self, name, **kwargs):
        return None if name is None else getattr(snapshot_writers, name)(**kwargs)

    def test_files_are_the_same(self, tmp_path, name):
        run(tmp_path / 'a', 3)
        run(tmp_path / 'b', 3, writer=self.writer(name))
        assert sorted(os.listdir(tmp_path / 'b')) == [f'snapshot_iter_{i}' for i in (1, 2, 3)]
        for i in 1, 2, 3:
            a, b = [np.load(tmp_path / f / f'snapshot_iter_{i}') for f in 'ab']
            assert sorted(a.files) == sorted(b.files)
            for key in a.files:
                if 'elapsed' not in key:
                    np.testing.assert_array_equal(a[key], b[key])
        assert multiprocessing.active_children() == []

    def test_n_retains(self, tmp_path, name):
        run(tmp_path, 5, writer=self.writer(name), n_retains=2)
        assert sorted(os.listdir(tmp_path)) == ['snapshot_iter_4', 'snapshot_iter_5']
        run(tmp_path, 7, writer=self.writer(name), n_retains=3, autoload=True)
        assert sorted(os.listdir(tmp_path)) == [f'snapshot_iter_{i}' for i in (5, 6, 7)]

    def test_what_was_given_is_what_is_saved(self, tmp_path, name):
        if name is None:
            return
        writer = self.writer(name)
        array = np.zeros(1000)
        for i in range(3):
            array[...] = i
            writer(f'file{i}', str(tmp_path), {'a/x': array})
        array[...] = 9
        writer.finalize()
        for i in range(3):
            with np.load(tmp_path / f'file{i}') as file:
                np.testing.assert_array_equal(file['a/x'], np.full(1000, i))


def fail(path, target, **kwargs):
    raise OSError('disk full')


def test_errors_of_writers(tmp_path):
    with pytest.raises(OSError, match='disk full'):
        snapshot_writers.SimpleWriter(fail)('x', str(tmp_path), {})
    for kind, message in ((snapshot_writers.ThreadWriter, r"a thread: OSError\('disk full'\)"),
                          (snapshot_writers.ProcessWriter, 'ended with code 1')):
        writer = kind(fail)
        writer('x', str(tmp_path), {})
        with pytest.raises(RuntimeError, match=message):
            writer('x', str(tmp_path), {})
        writer('x', str(tmp_path), {})
        with pytest.raises(RuntimeError, match=message):
            writer.finalize()
        writer.finalize()  # told once
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize('name', ['ThreadQueueWriter', 'ProcessQueueWriter'])
@pytest.mark.filterwarnings('ignore:the snapshot .* could not be written')
def test_queue_writers_fail_with_their_last_snapshot(tmp_path, name, capfd):
    make = getattr(snapshot_writers, name)
    writer = make(fail)
    writer('x', str(tmp_path), {})
    with pytest.raises(RuntimeError, match='a snapshot could not be written'):
        writer.finalize()
    writer.finalize()  # told once
    writer = make(fail_for_x)
    writer('x', str(tmp_path), {})
    writer('y', str(tmp_path), {})
    writer.finalize()
    assert os.listdir(tmp_path) == ['y']


def fail_for_x(path, target):
    if path.endswith('x'):
        raise OSError('disk full')
    serializers.save_npz(path, target)


@pytest.mark.parametrize('name', ['ThreadWriter', 'ProcessWriter', 'ThreadQueueWriter',
                                  'ProcessQueueWriter'])
@pytest.mark.filterwarnings('ignore:the snapshot .* could not be written')
def test_no_training_ends_well_without_its_last_snapshot(tmp_path, name, capfd):
    trainer = make_trainer(str(tmp_path), (3, 'iteration'))
    trainer.extend(extensions.snapshot(writer=getattr(snapshot_writers, name)(fail)),
                   trigger=(3, 'iteration'))
    finalized = []
    trainer.extend(training.make_extension(
        priority=-200, finalizer=lambda: finalized.append('extension'))(lambda trainer: None))
    with pytest.raises(RuntimeError, match='a snapshot could not be written'):
        trainer.run()
    assert finalized == ['extension']
    assert trainer.elapsed_time == trainer.elapsed_time


def test_arguments_for_savefun(tmp_path):
    snapshot_writers.SimpleWriter(serializers.save_npz, compression=False)(
        'x', str(tmp_path), {'a': np.zeros(1000)})
    with zipfile.ZipFile(tmp_path / 'x') as file:
        assert file.infolist()[0].compress_type == zipfile.ZIP_STORED


def test_own_writer(tmp_path):
    calls = []

    class Writer(snapshot_writers.Writer):
        def __call__(self, filename, outdir, target):
            calls.append((filename, outdir, sorted(target)[:1]))

        def finalize(self):
            calls.append('finalize')

    run(tmp_path, 1, writer=Writer())
    assert calls == [('snapshot_iter_1', str(tmp_path), ['_snapshot_elapsed_time']), 'finalize']
    for base in (snapshot_writers.Writer(), snapshot_writers.StandardWriter()):
        with pytest.raises(NotImplementedError, match='must define'):
            base('x', str(tmp_path), {})
    with pytest.raises(NotImplementedError, match=r'must define create_queue\(\)'):
        snapshot_writers.QueueWriter()


def test_a_queue_of_the_users_own(tmp_path):
    """The queue and its consumer are made with the writer, and asked in the order of Chainer 7."""
    calls = []

    class Consumer(threading.Thread):
        def start(self):
            calls.append('start')
            super().start()

        def join(self):
            super().join()
            calls.append('join')

    class Queue(queue.Queue):
        def put(self, item):
            calls.append('put' if item else 'put None')
            super().put(item)

        def join(self):
            super().join()
            calls.append('queue.join')

    class Writer(snapshot_writers.QueueWriter):
        def create_queue(self):
            calls.append('create_queue')
            return Queue()

        def create_consumer(self, q):
            calls.append('create_consumer')
            return Consumer(target=self.consume, args=(q,))

    writer = Writer()
    assert calls == ['create_queue', 'create_consumer']
    run(tmp_path, 1, writer=writer)
    assert calls[2:] == ['start', 'put', 'put None', 'join', 'queue.join']
    assert (tmp_path / 'snapshot_iter_1').exists()
    writer.finalize()
    assert len(calls) == 7


def test_random_state(tmp_path):
    def draws(stop, **kwargs):
        trainer = make_trainer(str(tmp_path), (stop, 'iteration'))
        numbers = []
        trainer.extend(lambda trainer: numbers.append(np.random.randn()), name='draw')
        trainer.extend(extensions.snapshot(**kwargs), trigger=(3, 'iteration'))
        trainer.run()
        return numbers

    np.random.seed(0)
    whole = draws(6, random_state=True)
    os.remove(tmp_path / 'snapshot_iter_6')
    np.random.seed(1)
    assert draws(6, random_state=True, autoload=True) == whole[3:]
    np.random.seed(0)
    draws(3)
    with pytest.warns(UserWarning, match='does not have the state of numpy.random'):
        draws(4, random_state=True, autoload=True)


class KillAt:
    """Ends the process, as hard as can be, at its ``n``-th call of a function."""

    def __init__(self, n):
        self.left = n

    def __call__(self, frame, event, argument):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def killable_training(out, stop):
    np.random.seed(0)
    trainer = make_trainer(out, (stop, 'iteration'), optimizer=optimizers.MomentumSGD(0.1),
                           shuffle=True)
    trainer.extend(extensions.LogReport(trigger=(1, 'iteration')))
    trainer.extend(extensions.snapshot(autoload=True, n_retains=2, random_state=True),
                   trigger=(1, 'iteration'))
    return trainer


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs fork')
@pytest.mark.filterwarnings('ignore::DeprecationWarning')  # fork where NumPy has threads
def test_fifty_kills(tmp_path):
    out = str(tmp_path / 'killed')
    stop = 60
    calls = KillAt(0)
    short = killable_training(str(tmp_path / 'short'), 2)
    sys.setprofile(calls)
    short.run()
    sys.setprofile(None)
    calls_of_two_iterations = -calls.left

    chance = random.Random(0)
    kills = 0
    newest = 0
    while True:
        child = os.fork()
        if child == 0:
            try:
                trainer = killable_training(out, stop)
                if kills < 50:
                    sys.setprofile(KillAt(chance.randrange(1, 2 * calls_of_two_iterations)))
                trainer.run()
                os._exit(0)
            except BaseException:  # the test's own cleaning up is for the parent only
                os._exit(1)
        chance.random()
        status = os.waitpid(child, 0)[1]
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            break
        assert os.WTERMSIG(status) == signal.SIGKILL
        kills += 1
        # Every file that has its name is whole, and no progress was lost.
        names = [n for n in os.listdir(out) if n.startswith('snapshot')] if os.path.isdir(
            out) else []
        for name in names:
            assert zipfile.ZipFile(os.path.join(out, name)).testzip() is None
        iterations = [int(name.rsplit('_')[-1]) for name in names]
        assert max(iterations, default=0) >= newest
        newest = max(iterations, default=0)
        if os.path.exists(os.path.join(out, 'log')):
            assert len(json.load(open(os.path.join(out, 'log')))) >= newest
    assert kills == 50 and newest > 0

    killed = killable_training(out, stop)
    killed.run()
    whole = killable_training(str(tmp_path / 'whole'), stop)
    whole.run()
    for a, b in zip(model_of(killed).params(), model_of(whole).params(), strict=True):
        np.testing.assert_array_equal(a.array, b.array)
    losses = [[entry['main/loss'] for entry in trainer.get_extension('LogReport').log]
              for trainer in (killed, whole)]
    assert losses[0] == losses[1] and len(losses[0]) == stop


@pytest.mark.parametrize('make', [
    extensions.snapshot, functools.partial(extensions.snapshot_object, chainer.Chain(), 'a')])
def test_an_old_name_of_an_argument(make):
    with pytest.warns(DeprecationWarning, match='use n_retains') as warned:
        assert make(num_retain=2).n_retains == 2
    assert warned[0].filename == __file__
