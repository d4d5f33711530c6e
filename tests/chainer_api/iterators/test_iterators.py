"""What the iterators have in common: state, snapshots, errors."""
import copy
import pickle

import numpy as np
import pytest

from chainer import iterators, serializers


def make(kind, dataset, batch_size, **kwargs):
    workers = {iterators.SerialIterator: {}, iterators.MultithreadIterator: {'n_threads': 2},
               iterators.MultiprocessIterator: {'n_processes': 2}}
    return kind(dataset, batch_size, **workers[kind], **kwargs)


class Bad(list):
    def __getitem__(self, i):
        if i == 5:
            raise KeyError('bad example')
        return i


ALL = [iterators.SerialIterator, iterators.MultithreadIterator, iterators.MultiprocessIterator]
every = pytest.mark.parametrize('kind', ALL)


@every
class TestEvery:

    def test_batches_and_epochs(self, kind):
        with make(kind, list('abcde'), 2, shuffle=False) as iterator:
            assert iterator.previous_epoch_detail is None and iterator.repeat
            batches = [next(iterator) for _ in range(5)]
            assert batches == [['a', 'b'], ['c', 'd'], ['e', 'a'], ['b', 'c'], ['d', 'e']]
            assert (iterator.epoch, iterator.is_new_epoch, iterator.epoch_detail) == (2, True, 2.)
            assert iterator.previous_epoch_detail == 1.6 and iterator.current_position == 0
            iterator.reset()
            assert iterator.next() == ['a', 'b'] and iterator.epoch_detail == 0.4

    def test_end(self, kind):
        with make(kind, list(range(5)), 3, repeat=False) as iterator:
            assert sorted(x for batch in iterator for x in batch) == list(range(5))
            with pytest.raises(StopIteration):
                next(iterator)
            assert iterator.epoch == 1 and not iterator.repeat
            iterator.reset()
            assert len(next(iterator)) == 3

    @pytest.mark.parametrize('size', [0, -1, 1.5, 'a'])
    def test_batch_size(self, kind, size):
        with pytest.raises(ValueError, match='batch_size must be a positive integer, not'):
            make(kind, [1], size)

    def test_shuffle_and_sampler(self, kind):
        with pytest.raises(ValueError, match='`shuffle` is not `None`'):
            make(kind, [1], 1, shuffle=True, order_sampler=iterators.ShuffleOrderSampler())

    def test_empty_dataset(self, kind):
        with make(kind, [], 2, repeat=False) as iterator:
            assert list(iterator) == [] and iterator.epoch_detail == 0
        with make(kind, [], 2) as iterator, pytest.raises(ValueError, match='this is empty'):
            next(iterator)

    def test_sampler_of_another_length(self, kind):
        with make(kind, list(range(4)), 4, order_sampler=lambda order, _: order[1:]) as iterator:
            with pytest.raises(ValueError, match='from 3 to 2; it must stay the same'):
                next(iterator)

    def test_error_of_the_dataset(self, kind):
        with make(kind, Bad(range(8)), 4, shuffle=False) as iterator:
            assert next(iterator) == [0, 1, 2, 3]
            with pytest.raises(KeyError, match='bad example'):
                next(iterator)
            assert next(iterator) == [0, 1, 2, 3]

    @pytest.mark.parametrize('shuffle', [True, False])
    @pytest.mark.parametrize('taken', [0, 1, 3, 4, 7])
    def test_resumed_iteration_goes_on_as_if_never_stopped(self, kind, shuffle, taken, tmp_path):
        np.random.seed(5)
        with make(kind, list(range(6)), 4, shuffle=shuffle) as iterator:
            for _ in range(taken):
                next(iterator)
            serializers.save_npz(tmp_path / 'state', iterator)
            random_state = np.random.get_state()
            details = iterator.epoch_detail, iterator.previous_epoch_detail, iterator.is_new_epoch
            expected = [next(iterator) for _ in range(8)]

        np.random.seed(99)
        with make(kind, list(range(6)), 4, shuffle=shuffle) as resumed:
            next(resumed)  # what was begun before loading is forgotten
            serializers.load_npz(tmp_path / 'state', resumed)
            np.random.set_state(random_state)
            assert details == (
                resumed.epoch_detail, resumed.previous_epoch_detail, resumed.is_new_epoch)
            assert [next(resumed) for _ in range(8)] == expected

    def test_state_of_another_iterator_can_be_loaded(self, kind, tmp_path):
        for other in ALL:
            with make(other, list(range(6)), 4) as source:
                next(source)
                serializers.save_npz(tmp_path / 'state', source)
                with make(kind, list(range(6)), 4) as target:
                    serializers.load_npz(tmp_path / 'state', target)
                    assert target.current_position == 4
                    assert next(target)[:2] == next(source)[:2]


class Backwards(iterators.OrderSampler):
    def __call__(self, current_order, current_position):
        return current_order[::-1]


@pytest.mark.parametrize('duplicate', [copy.copy, lambda it: pickle.loads(pickle.dumps(it))])
@pytest.mark.parametrize('settings', [{'order_sampler': Backwards()}, {'shuffle': False}])
@pytest.mark.parametrize('taken', [0, 1, 4])
@every
def test_copies_and_pickles_go_on_at_the_same_place(kind, taken, settings, duplicate):
    with make(kind, list(range(7)), 3, **settings) as iterator:
        for _ in range(taken):
            next(iterator)
        with duplicate(iterator) as other:
            assert other.epoch == iterator.epoch
            assert other.current_position == iterator.current_position
            assert other.previous_epoch_detail == iterator.previous_epoch_detail
            assert [next(other) for _ in range(5)] == [next(iterator) for _ in range(5)]


@every
def test_default_orders_can_be_pickled(kind):
    with make(kind, list(range(7)), 3) as iterator:
        with pickle.loads(pickle.dumps(iterator)) as other:
            assert len(next(other)) == 3


@pytest.mark.parametrize('missing, expected', [('previous_epoch_detail', 0.75), (None, 1.25)])
def test_state_of_old_releases(missing, expected):
    state = {'current_position': 1, 'epoch': 1, 'is_new_epoch': False,
             'previous_epoch_detail': 1.25, '_order': np.array([3, 2, 1, 0])}
    state.pop(missing, None)
    iterator = iterators.SerialIterator(list(range(4)), 2)
    serializers.NpzDeserializer({k: np.asarray(v) for k, v in state.items()}).load(iterator)
    assert iterator.previous_epoch_detail == expected and next(iterator) == [2, 1]


@pytest.mark.parametrize('kind, key', [('MultithreadIterator', ['_order']), ('SerialIterator', [])])
def test_names_of_an_order_that_is_not_there(kind, key):
    # As Chainer asks for them in files of ours.
    saved = serializers.DictionarySerializer()
    with getattr(iterators, kind)(list(range(4)), 2, shuffle=False) as iterator:
        saved.save(iterator)
        assert [name for name in saved.target if 'order' in name] == key
        serializers.NpzDeserializer(saved.target).load(iterator)
        assert next(iterator) == [0, 1]


def test_orders_are_those_of_the_serial_iterator_while_nothing_else_draws():
    sequences = []
    for kind in ALL:
        np.random.seed(3)
        with make(kind, list(range(7)), 3) as iterator:
            sequences.append([next(iterator) for _ in range(10)])
    assert sequences[0] == sequences[1] == sequences[2]


def test_python_integers_are_asked_for():
    class Picky(list):
        def __getitem__(self, i):
            assert type(i) is int
            return i

    for shuffle in True, False:
        next(iterators.SerialIterator(Picky(range(4)), 3, shuffle=shuffle))


def test_order_sampler_must_be_defined():
    with pytest.raises(NotImplementedError, match='OrderSampler must define __call__'):
        iterators.OrderSampler()(np.arange(2), 0)


def test_copy_of_a_multiprocess_iterator():
    with iterators.MultiprocessIterator(list(range(6)), 2, n_processes=1) as iterator:
        next(iterator)
        with copy.copy(iterator) as other:
            ours, theirs = [[next(i) for _ in range(2)] for i in (iterator, other)]
            assert ours == theirs and iterator.epoch == other.epoch == 1


class Pipeline:
    """What DaliIterator uses of a pipeline."""

    batch_size = 3

    def __init__(self):
        self.count = 0

    def build(self):
        self.built = True

    def epoch_size(self):
        return {'reader': 5}

    def run(self):
        assert self.built
        self.count += 1
        return self.count


class TestDali:

    def test_repeating(self, tmp_path):
        iterator = iterators.DaliIterator(Pipeline())
        assert (iterator.epoch_detail, iterator.previous_epoch_detail) == (0, None)
        rows = [(next(iterator), iterator.epoch_detail, iterator.previous_epoch_detail,
                 iterator.is_new_epoch) for _ in range(4)]
        assert rows == [  # Chainer's
            (1, 0.6, 0., False), (2, 1.2, 0.6, True), (3, 1.8, 1.2, False), (4, 2.4, 1.8, True)]
        assert iterator.batch_size == 3 and iterator.repeat
        serializers.save_npz(tmp_path / 'state', iterator)
        other = iterators.DaliIterator(Pipeline())
        serializers.load_npz(tmp_path / 'state', other)
        next(other)
        assert (other.epoch, other.previous_epoch_detail, other.current_position) == (3, 2.4, 0)
        other.reset()
        assert (other.epoch_detail, other.previous_epoch_detail) == (0, None)

    def test_once(self):
        iterator = iterators.DaliIterator(Pipeline(), repeat=False)
        assert list(iterator) == [1, 2] and iterator.epoch_detail == 1

    def test_no_pipeline(self):
        with pytest.raises(TypeError, match='takes a pipeline of the package nvidia-dali'):
            iterators.DaliIterator([])


class Faulty:
    """A dataset whose example 3 raises."""

    def __init__(self, error):
        self.error = error

    def __len__(self):
        return 6

    def __getitem__(self, index):
        if index == 3:
            raise self.error
        return index


@pytest.mark.parametrize('error', [
    SystemExit(3), SystemExit('bye'), KeyboardInterrupt(), GeneratorExit(), StopIteration(),
    ValueError('bad')])
def test_whatever_a_dataset_raises_in_a_thread_arrives(error):
    iterator = iterators.MultithreadIterator(Faulty(error), 2, shuffle=False, n_threads=2)
    assert next(iterator) == [0, 1]
    with pytest.raises(type(error)) as caught:
        next(iterator)
    assert caught.value is error
    assert error.__notes__ == ['(in a thread of a MultithreadIterator, at dataset index 3)']
    iterator.finalize()


def test_finalized_threads_give_nothing_more():
    iterator = iterators.MultithreadIterator(range(5), 2, shuffle=False)
    assert next(iterator) == [0, 1]
    iterator.finalize()
    iterator.finalize()
    for call in iterator.next, iterator.__next__:
        with pytest.raises(RuntimeError, match='this MultithreadIterator is finalized'):
            call()
    iterator.reset()
    assert next(iterator) == [0, 1]
    iterator.finalize()
