"""Training on several processes: optimizers, evaluators, data sets, iterators, checkpoints."""
import os
import warnings

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
import chainermn
from chainer import iterators, optimizers, serializers, training
from chainer.training import extensions
from chainermn.extensions import (
    AllreducePersistent,
    GenericMultiNodeEvaluator,
    MultiNodeEarlyStoppingTrigger,
    ObservationAggregator,
    create_multi_node_checkpointer,
    create_multi_node_evaluator,
    multi_node_snapshot,
)


class Model(chainer.Chain):
    """A regression whose first weights are those of a seed."""

    def __init__(self, seed=0):
        super().__init__()
        rng = np.random.RandomState(seed)
        with self.init_scope():
            self.l1 = L.Linear(3, 8, initialW=rng.uniform(-1, 1, (8, 3)))
            self.l2 = L.Linear(8, 1, initialW=rng.uniform(-1, 1, (1, 8)))

    def forward(self, x, t):
        loss = F.mean_squared_error(self.l2(F.tanh(self.l1(x))), t)
        chainer.report({'loss': loss, 'size': len(x)}, self)
        return loss


class Compiled(Model):
    forward = chainer.static_graph(Model.forward)


def dataset(n=24, seed=5):
    x = np.random.RandomState(seed).uniform(-1, 1, (n, 3)).astype('f4')
    return chainer.datasets.TupleDataset(x, np.sin(x.sum(1, keepdims=True)))


def examples(data, indices):
    return tuple(np.stack(column) for column in zip(*[data[i] for i in indices], strict=True))


def arrays(model):
    return {name: param.array.copy() for name, param in model.namedparams()}


def check_equal(actual, expected):
    assert actual.keys() == expected.keys()
    for name in actual:
        np.testing.assert_array_equal(actual[name], expected[name], err_msg=name)


def check_close(actual, expected):
    assert actual.keys() == expected.keys()
    for name in actual:
        # float32: the sums over the batch are added up in another order.
        np.testing.assert_allclose(actual[name], expected[name], rtol=1e-4, atol=1e-6)


def shared_folder(comm):
    """The working folder, which the test makes; a new one in it for each call."""
    shared_folder.count += 1
    path = f'folder{shared_folder.count}'
    if comm.rank == 0:
        os.makedirs(path)
    comm.mpi_comm.Barrier()
    return path


shared_folder.count = 0


# Optimizers

METHODS = [lambda: optimizers.SGD(0.1), lambda: optimizers.MomentumSGD(0.1), optimizers.Adam]


def train(comm, make, name='naive', compiled=False, n=6):
    """n updates on this process's part of each batch; the parameters after each."""
    model = (Compiled if compiled else Model)(comm.rank)
    each = chainermn.create_communicator(name, comm.mpi_comm)
    optimizer = chainermn.create_multi_node_optimizer(make(), each).setup(model)
    assert optimizer.target is model
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.01))
    data = dataset()
    found = []
    for i in range(n):
        batch = np.arange(12 * i, 12 * i + 12) % 24
        own = np.split(batch, comm.size)[comm.rank]
        optimizer.update(model, *examples(data, own))
        found.append(arrays(model))
    assert optimizer.t == n - 1
    return found


def case_training_is_that_of_the_whole_batch(comm):
    """The first update broadcasts only; from then on n processes do what one does."""
    for make in METHODS:
        model = Model(0)
        optimizer = make().setup(model)
        optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.01))
        data = dataset()
        expected = [arrays(model)]
        for i in range(1, 6):
            optimizer.update(model, *examples(data, np.arange(12 * i, 12 * i + 12) % 24))
            expected.append(arrays(model))
        for name in ('naive', 'flat'):
            for a, e in zip(train(comm, make, name), expected, strict=True):
                check_close(a, e)


def case_training_is_the_same_in_all_processes_and_runs(comm):
    once, again = train(comm, METHODS[1]), train(comm, METHODS[1])
    first = comm.bcast_obj(once)
    for a, b, c in zip(once, again, first, strict=True):
        check_equal(a, b)
        check_equal(a, c)


def case_compiled_training_is_the_same(comm):
    for name in ('naive', 'flat'):
        for a, b in zip(train(comm, METHODS[2], name, compiled=True),
                        train(comm, METHODS[2], name), strict=True):
            check_equal(a, b)


def case_attributes_are_those_of_the_actual_optimizer(comm):
    actual = optimizers.SGD(1.)
    optimizer = chainermn.create_multi_node_optimizer(actual, comm)
    assert optimizer.setup(Model()) is optimizer
    optimizer.lr = 0.5
    assert (actual.lr, optimizer.lr, optimizer.t) == (0.5, 0.5, 0)
    assert optimizer.actual_optimizer is actual and optimizer.communicator is comm
    with pytest.raises(AttributeError, match='nothing'):
        optimizer.nothing  # noqa: B018


def case_update_without_a_loss_function(comm):
    model = Model(comm.rank)
    optimizer = chainermn.create_multi_node_optimizer(optimizers.SGD(1.), comm).setup(model)
    for i in range(2):
        for param in model.params():
            param.grad = np.full(param.shape, comm.rank, 'f4')
        optimizer.update()
        assert optimizer.t == i
    for name, param in model.namedparams():
        np.testing.assert_array_equal(
            param.array, dict(Model(0).namedparams())[name].array
            - np.float32(sum(range(comm.size))) * np.float32(1 / comm.size))


def case_a_model_that_grows(comm):
    model = chainer.Chain(a=L.Linear(3, 1, initialW=comm.rank))
    optimizer = chainermn.create_multi_node_optimizer(optimizers.SGD(.1), comm).setup(model)
    x = np.ones((1, 3), 'f4')
    for _ in range(2):
        optimizer.update(lambda: F.sum(model.a(x)))
    before = model.a.W.array.copy()
    with model.init_scope():
        model.b = L.Linear(3, 1, initialW=10 + comm.rank)
    optimizer.update(lambda: F.sum(model.a(x) + model.b(x)))
    np.testing.assert_array_equal(model.a.W.array, before)
    np.testing.assert_array_equal(model.b.W.array, np.full((1, 3), 10, 'f4'))


def case_a_model_whose_sizes_the_first_call_decides(comm):
    model = L.Linear(None, 1, initialW=comm.rank + 1.)
    optimizer = chainermn.create_multi_node_optimizer(optimizers.SGD(.5), comm).setup(model)
    for _ in range(2):
        optimizer.update(lambda: F.sum(model(np.ones((1, 3), 'f4'))))
    np.testing.assert_array_equal(model.W.array, np.full((1, 3), .5, 'f4'))


def case_parameters_without_a_gradient(comm):
    """Of a layer that is used in one process only."""
    model = chainer.Chain(a=L.Linear(3, 1, initialW=1), b=L.Linear(3, 1, initialW=1))
    optimizer = chainermn.create_multi_node_optimizer(optimizers.SGD(1.), comm).setup(model)
    x = np.ones((1, 3), 'f4')
    for _ in range(2):
        optimizer.update(lambda: F.sum(model.b(x) if comm.rank == 0 else model.a(x)))
    share = np.float32(1) * np.float32(1 / comm.size)
    np.testing.assert_array_equal(model.b.W.array, np.full((1, 3), 1 - share))


def case_loss_scaling(comm):
    plain, scaled = Model(), Model()
    for model in (plain, scaled):
        optimizer = chainermn.create_multi_node_optimizer(optimizers.SGD(.5), comm).setup(model)
        if model is scaled:
            optimizer.loss_scaling(scale=8)
        for i in range(3):
            optimizer.update(model, *examples(dataset(), [i, i + comm.rank]))
    check_close(arrays(plain), arrays(scaled))


def case_double_buffering_needs_nccl(comm):
    with pytest.raises(ValueError, match='This communicator does not support double buffering'):
        chainermn.create_multi_node_optimizer(optimizers.SGD(), comm, double_buffering=True)


class Deep(chainer.Chain):
    """Blocks of several layers, the last but one used twice; compiled or not."""

    def __init__(self, compiled=False):
        super().__init__()
        rng = np.random.RandomState(0)
        with self.init_scope():
            self.blocks = chainer.ChainList(*[(CompiledBlock if compiled else Block)(rng, dtype)
                                              for dtype in ('f4', 'f4', 'f2', 'f4')])

    def forward(self, x, t):
        for block in (*self.blocks, self.blocks[3]):
            x = block(F.cast(x, block.l1.W.dtype))
        return F.mean((F.cast(x, np.float32) - t) ** 2)


class Block(chainer.Chain):
    def __init__(self, rng, dtype):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(3, 9, initialW=rng.uniform(-1, 1, (9, 3)).astype(dtype))
            self.l2 = L.Linear(9, 3, initialW=rng.uniform(-1, 1, (3, 9)).astype(dtype))
            self.unused = L.Linear(2, 2, initialW=np.ones((2, 2), dtype))
        for link in (self.l1, self.l2, self.unused):
            for name in ('W', 'b'):
                param = getattr(link, name)
                param.array = param.array.astype(dtype)
                param.cleargrad()

    def forward(self, x):
        return self.l2(F.tanh(self.l1(x)))


class CompiledBlock(Block):
    forward = chainer.static_graph(Block.forward)


class CompiledDeep(Deep):
    forward = chainer.static_graph(Deep.forward)


class Blocks(chainer.ChainList):
    """Equal blocks, one after the other."""

    def __init__(self, kind):
        super().__init__(*[kind(np.random.RandomState(0), 'f4') for _ in range(3)])
        for block in self:
            del block.unused

    def forward(self, x):
        for block in self:
            x = block(x)
        return F.sum(x * x)


class CompiledBlocks(Blocks):
    forward = chainer.static_graph(Blocks.forward)


def case_overlap_gives_the_same_numbers(comm):
    """As gradients that are all sent after backward, and as without buckets within rounding."""
    from chainermn import _overlap

    before, _overlap.BUCKET = _overlap.BUCKET, 200
    try:
        for kind in (Deep, lambda: Deep(True), CompiledDeep):
            models = {}
            for how in ('overlap', 'after', 'naive'):
                models[how] = model = kind()
                optimizer = chainermn.create_multi_node_optimizer(
                    optimizers.SGD(.1), comm, overlap=how != 'naive').setup(model)
                rng = np.random.RandomState(comm.rank)
                early = []
                for _ in range(5):
                    batch = rng.uniform(-1, 1, (2, 4, 3)).astype('f4')
                    if how == 'after':
                        model.cleargrads()
                        model(*batch).backward()
                        optimizer.update()
                    else:
                        optimizer.update(model, *batch)
                    if optimizer.t and how != 'naive':
                        early.append(optimizer.averager.sent_early)
                assert len(early) == (0 if how == 'naive' else 4)
                if how == 'after':
                    assert set(early) == {0}
            check_equal(arrays(models['overlap']), arrays(models['after']))
            for name, value in arrays(models['naive']).items():
                tolerance = 1e-3 if value.itemsize == 2 else 1e-5
                np.testing.assert_allclose(
                    arrays(models['overlap'])[name], value, atol=tolerance)
    finally:
        _overlap.BUCKET = before


def case_buckets_are_sent_while_backward_is_at_work(comm):
    from chainermn import _overlap

    before, _overlap.BUCKET = _overlap.BUCKET, 200
    try:
        for model in (Blocks(Block), Blocks(CompiledBlock), CompiledBlocks(Block)):
            optimizer = chainermn.create_multi_node_optimizer(
                optimizers.SGD(.1), comm, overlap=True).setup(model)
            early = []
            for _ in range(6):
                optimizer.update(model, np.ones((2, 3), 'f4'))
                if optimizer.averager is not None:
                    early.append(optimizer.averager.sent_early)
            assert set(early) == {len(optimizer.averager._buckets)}, early
            assert len(optimizer.averager._buckets) >= 3
    finally:
        _overlap.BUCKET = before


def case_what_overlap_does_not_go_with(comm):
    for wrong in (dict(double_buffering=True), dict(zero_fill=False)):
        with pytest.raises(ValueError, match='goes neither with double_buffering nor without'):
            chainermn.create_multi_node_optimizer(optimizers.SGD(), comm, overlap=True, **wrong)


# Trainers

def make_trainer(comm, out, n=(6, 'iteration'), seed=None, make=METHODS[2]):
    model = Model(comm.rank if seed is None else seed)
    optimizer = chainermn.create_multi_node_optimizer(make(), comm).setup(model)
    part = chainermn.scatter_dataset(dataset(), comm, shuffle=True, seed=1)
    iterator = iterators.SerialIterator(part, 4)
    updater = training.StandardUpdater(iterator, optimizer)
    return training.Trainer(updater, n, out=out), model, optimizer


class Stop(Exception):
    pass


def stop_at(trainer, iteration):
    @training.make_extension(trigger=(iteration, 'iteration'), priority=-1000)
    def stop(trainer):
        raise Stop

    trainer.extend(stop)
    with pytest.raises(Stop):
        trainer.run(show_loop_exception_msg=False)


def at_barrier(comm, look):
    comm.mpi_comm.Barrier()
    found = look()
    comm.mpi_comm.Barrier()
    return found


def case_checkpointer(comm):
    """Stopped at iteration 5 and gone on: the same as without."""
    folder = shared_folder(comm)
    np.random.seed(comm.rank)
    trainer, expected, _ = make_trainer(comm, f'{folder}/whole')
    trainer.run()

    def resumable():
        trainer, model, optimizer = make_trainer(comm, f'{folder}/out')
        checkpointer = create_multi_node_checkpointer('run', comm, path=folder)
        trainer.extend(checkpointer, trigger=(2, 'iteration'))
        return trainer, model, optimizer, checkpointer

    np.random.seed(comm.rank)
    trainer, _, optimizer, checkpointer = resumable()
    assert checkpointer.maybe_load(trainer, optimizer) is None
    stop_at(trainer, 5)
    files = sorted(f'run.{r}.{i}' for r in range(comm.size) for i in (2, 4))
    found = at_barrier(comm, lambda: sorted(f for f in os.listdir(folder) if 'run' in f))
    assert found == files
    np.random.seed(99)  # the state of the random numbers is in the files
    trainer, model, optimizer, checkpointer = resumable()
    assert checkpointer.maybe_load(trainer, optimizer) == 4
    assert trainer.updater.iteration == 4
    trainer.run()
    check_equal(arrays(model), arrays(expected))
    assert at_barrier(comm, lambda: [f for f in os.listdir(folder) if 'run' in f]) == []


def case_checkpoints_that_some_have(comm, n_processes=(2, 3, 4)):
    """The newest that all have counts; newer and damaged ones do not."""
    folder = shared_folder(comm)

    def make():
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            return create_multi_node_checkpointer('run', comm, path=folder)

    model = L.Linear(1, 1)
    checkpointer = make()
    for i in range(4):
        model.b.array[...] = i
        if i < 3 or comm.rank == 0:
            checkpointer.save(model, i)
    if comm.rank == comm.size - 1:
        with open(f'{folder}/run.{comm.rank}.2', 'r+b') as file:
            file.truncate(100)
    loaded = L.Linear(1, 1)
    assert make().maybe_load(loaded) == 1
    assert loaded.b.array == [1]
    own = {f for f in os.listdir(folder) if f.startswith(f'run.{comm.rank}.')}
    assert own == {f'run.{comm.rank}.{i}' for i in (0, 1)}
    comm.mpi_comm.Barrier()
    if comm.rank == 1:
        for name in own:
            os.remove(f'{folder}/{name}')
        assert make().maybe_load(loaded) is None
    else:
        with pytest.warns(UserWarning, match=r'none that all \d processes have \(ranks '
                                             r'without any: \[1\]\); starting anew'):
            assert make().maybe_load(loaded) is None


def case_old_checkpoints_are_removed(comm):
    folder = shared_folder(comm)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        checkpointer = create_multi_node_checkpointer(
            'run', comm, cp_interval=2, gc_interval=3, path=folder)
    counts = []
    for i in range(12):
        checkpointer.save(L.Linear(1, 1), i)
        counts.append(len(checkpointer._iterations()))
    assert counts == [1, 2, 3, 4, 2, 3, 4, 2, 3, 4, 2, 3]
    assert checkpointer._iterations() == [9, 10, 11]
    for wrong in (dict(name='a/b'), dict(name=''), dict(cp_interval=0), dict(gc_interval=0)):
        with pytest.raises(ValueError, match='checkpointer|_interval'):
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                create_multi_node_checkpointer(**{'name': 'x', 'comm': comm, **wrong})


def run_with_snapshots(comm, folder, n, stop=None, replica_sets=()):
    trainer, model, optimizer = make_trainer(comm, folder, (n, 'iteration'))
    snapshot = extensions.snapshot(n_retains=2, autoload=True, random_state=True)
    trainer.extend(multi_node_snapshot(comm, snapshot, list(replica_sets)),
                   trigger=(2, 'iteration'))
    seen = []

    @training.make_extension(trigger=(1, 'iteration'))
    def look(trainer):
        seen.append(trainer.updater.iteration)

    trainer.extend(look)
    if stop is None:
        trainer.run()
    else:
        stop_at(trainer, stop)
    comm.mpi_comm.Barrier()
    return model, seen


def case_snapshots_of_one_replica_set(comm):
    """One file for all processes: the last two are kept, and training goes on from the newest."""
    folder = shared_folder(comm)
    run_with_snapshots(comm, folder, 9, stop=7)
    files = sorted(f for f in os.listdir(folder) if 'snapshot' in f)
    assert files == ['snapshot_iter_4.0', 'snapshot_iter_6.0']
    _, seen = run_with_snapshots(comm, folder, 9)
    assert seen == [7, 8, 9]


def case_snapshots_of_several_replica_sets(comm, n_processes=(2, 3, 4)):
    """Stopped and gone on with a file for each process: the same as without."""
    folder = shared_folder(comm)
    own = [[r] for r in range(comm.size)]
    np.random.seed(comm.rank)
    expected, _ = run_with_snapshots(comm, f'{folder}/whole', 6, replica_sets=own)
    np.random.seed(comm.rank)
    run_with_snapshots(comm, folder, 6, 5, own)
    files = sorted(f for f in os.listdir(folder) if 'snapshot' in f)
    assert files == sorted(f'snapshot_iter_{i}.{r}' for i in (2, 4) for r in range(comm.size))
    comm.mpi_comm.Barrier()
    if comm.rank == 0:  # a damaged file: the older ones are taken
        with open(f'{folder}/snapshot_iter_4.1', 'r+b') as file:
            file.truncate(50)
    comm.mpi_comm.Barrier()
    model, seen = run_with_snapshots(comm, folder, 6, None, own)
    assert seen == [3, 4, 5, 6]
    check_equal(arrays(model), arrays(expected))


def case_replica_sets(comm):
    for wrong in ([[0], [0]], [[comm.size]], [[-1]]):
        with pytest.raises(ValueError, match='replica_sets: each rank from 0 to'):
            multi_node_snapshot(comm, extensions.snapshot(), wrong)
    made = multi_node_snapshot(comm, extensions.snapshot(), [range(comm.size)])
    assert made.is_master is (comm.rank == 0)
    if comm.size > 2:
        made = multi_node_snapshot(comm, extensions.snapshot(), [[2, 1]])
        assert made.is_master is (comm.rank in (0, 1) or comm.rank > 3)


def case_going_on_from_a_snapshot_that_one_process_loads(comm):
    """The others get its parameters in the first update, as those that are new."""
    folder = shared_folder(comm)
    if comm.rank == 0:
        source = Model(9)
        actual = optimizers.SGD(.5).setup(source)
        actual.t = 3
        serializers.save_npz(f'{folder}/model', source)
        serializers.save_npz(f'{folder}/optimizer', actual)
    comm.mpi_comm.Barrier()
    for everybody in (True, False):
        model = Model(comm.rank)
        optimizer = chainermn.create_multi_node_optimizer(optimizers.SGD(.5), comm).setup(model)
        if everybody or comm.rank == 0:
            serializers.load_npz(f'{folder}/model', model)
            serializers.load_npz(f'{folder}/optimizer', optimizer)
        optimizer.update(model, *examples(dataset(), [comm.rank]))
        after = arrays(model)
        check_equal(after, comm.bcast_obj(after))
        if comm.size > 1 or everybody:
            changed = any((after[n] != p.array).any() for n, p in Model(9).namedparams())
            assert changed is everybody


# Evaluators

def make_evaluator(comm):
    part = chainermn.scatter_dataset(dataset(12), comm, force_equal_length=False)
    return extensions.Evaluator(
        iterators.SerialIterator(part, 2, repeat=False, shuffle=False), Model(0))


def case_evaluator(comm):
    local = make_evaluator(comm)()
    evaluator = make_evaluator(comm)
    assert create_multi_node_evaluator(evaluator, comm) is evaluator
    for _ in range(2):
        means = evaluator()
        everybody = comm.mpi_comm.allgather(local)
        assert means.keys() == {'main/loss', 'main/size'}
        for key, value in means.items():
            expected = sum(each[key] for each in everybody) / comm.size
            assert value == pytest.approx(expected, rel=1e-6)


def case_evaluator_of_ones_own(comm):
    class Own(extensions.Evaluator):
        def evaluate(self):
            return {'a': 1. + comm.rank, f'only{comm.rank}': comm.rank}

    evaluator = create_multi_node_evaluator(Own([], Model(0)), comm)
    means = evaluator()
    assert means['a'] == 1 + (comm.size - 1) / 2
    assert all(means[f'only{r}'] == r for r in range(comm.size))


def case_generic_evaluator(comm):
    class Largest(GenericMultiNodeEvaluator):
        def calc_local(self, x, t):
            assert not chainer.config.train and not chainer.config.enable_backprop
            return comm.rank, len(x)

        def aggregate(self, results):
            return results

    n = 3 + comm.rank  # batches of two: the processes have different numbers of them
    evaluator = Largest(
        comm, iterators.SerialIterator(dataset(n), 2, repeat=False, shuffle=False), Model(0))
    assert (evaluator.trigger, evaluator.name) == ((1, 'epoch'), None)
    for _ in range(2):
        results = evaluator(None)
        assert (results is None) is (comm.rank != 0)
        if results is not None:
            sizes = {r: [2] * ((3 + r) // 2) + [1] * ((3 + r) % 2) for r in range(comm.size)}
            assert results == [
                (r, sizes[r][i]) for i in range(4) for r in range(comm.size) if i < len(sizes[r])]
    base = GenericMultiNodeEvaluator(comm, [], Model(0))
    with pytest.raises(NotImplementedError, match='does not implement calc_local'):
        base.calc_local()


def case_allreduce_persistent(comm):
    model = chainer.Chain(bn=L.BatchNormalization(2))
    model.bn.avg_mean[...] = comm.rank
    model.bn.N = comm.rank
    extension = AllreducePersistent(model, comm)
    extension()
    np.testing.assert_array_equal(model.bn.avg_mean, np.full(2, (comm.size - 1) / 2, 'f4'))
    assert model.bn.N == comm.rank
    assert extension.priority > extensions.Evaluator.priority


class FakeTrainer:
    """What triggers and extensions look at."""

    class updater:
        iteration = 0
        epoch = 0
        epoch_detail = 0.
        previous_epoch_detail = 0.

    observation = None

    def observe(self, extension, **observation):
        self.updater.iteration += 1
        self.observation = observation
        return extension(self)


def case_observation_aggregator(comm):
    trainer, size = FakeTrainer(), comm.size
    extension = ObservationAggregator(comm, 'a', 'b')
    trainer.observe(extension, a=float(comm.rank))
    assert trainer.observation == {'a': comm.rank, 'b': (size - 1) / 2}
    trainer.observe(extension, a=chainer.Variable(np.array(comm.rank, 'f4')))
    assert trainer.observation['b'] == (size - 1) / 2
    if comm.rank == 0:
        trainer.observe(extension, a=3.)
    else:
        trainer.observe(extension)
    assert trainer.observation['b'] == 3
    trainer.observe(extension)
    assert 'b' not in trainer.observation
    in_place = ObservationAggregator(comm, 'a')
    trainer.observe(in_place, a=float(comm.rank))
    assert trainer.observation == {'a': (size - 1) / 2}
    trainer = FakeTrainer()
    trainer.updater.iteration = 0
    extension = ObservationAggregator(
        comm, 'a', comm_trigger=(2, 'iteration'), aggregator=lambda values: values)
    trainer.observe(extension, a=1)
    assert trainer.observation == {'a': 1}
    trainer.observe(extension, a=comm.rank)
    assert trainer.observation == {'a': [[1, r] for r in range(size)]}


def case_early_stopping(comm):
    """The mean gets no better, though each process's own value does at times."""
    trainer = FakeTrainer()
    trainer.updater.iteration = 0
    trigger = MultiNodeEarlyStoppingTrigger(
        comm, check_trigger=(1, 'iteration'), monitor='v', patience=2,
        max_trigger=(50, 'iteration'))
    assert trigger.get_training_length() == (50, 'iteration')
    others = comm.size - 1
    fired = []
    for i in range(4):
        value = 10. - i * others if comm.rank == 0 else 10. + i
        fired.append(trainer.observe(trigger, v=value))
        assert trainer.observation['v_aggregated'] == 10
    assert fired == [False, False, True, True]
    assert MultiNodeEarlyStoppingTrigger(comm, patients=5).actual_trigger.patience == 5
    with pytest.raises(TypeError, match="got unexpected keyword argument\\(s\\) 'foo'"):
        MultiNodeEarlyStoppingTrigger(comm, foo=3)


# Data sets

def case_scatter_dataset(comm):
    size = comm.size
    for n in (0, 1, 5, 7, 8, 17):
        for root in (0, size - 1):
            data = [f'{comm.rank}-{i}' for i in range(n)]
            part = chainermn.scatter_dataset(data if comm.rank == root else None, comm, root=root)
            parts = comm.mpi_comm.allgather(list(part))
            assert {len(p) for p in parts} == {-(-n // size)}
            assert {e for p in parts for e in p} == {f'{root}-{i}' for i in range(n)}
            exact = chainermn.scatter_dataset(
                data, comm, root=root, shuffle=True, force_equal_length=False)
            every = [e for p in comm.mpi_comm.allgather(list(exact)) for e in p]
            assert sorted(every) == sorted(f'{root}-{i}' for i in range(n))
    assert isinstance(part, chainer.datasets.SubDataset)
    shuffled = [list(chainermn.scatter_dataset(range(17), comm, shuffle=True, seed=3))
                for _ in range(2)]
    assert shuffled[0] == shuffled[1]
    order = np.random.RandomState(3).permutation(17)
    assert shuffled[0] == order[17 * comm.rank // size:][:-(-17 // size)].tolist()
    assert list(chainermn.scatter_dataset([1, 2], comm.mpi_comm, max_buf_len=3)) \
        == list(chainermn.scatter_dataset([1, 2], comm))


def case_scatter_index(comm):
    # As the original does it with two and three processes.
    expected = {
        2: {7: [(0, 4), (3, 7)], 10: [(0, 5), (5, 10)]},
        3: {7: [(0, 3), (2, 5), (4, 7)], 8: [(0, 3), (2, 5), (5, 8)],
            10: [(0, 4), (3, 7), (6, 10)], 11: [(0, 4), (3, 7), (7, 11)]}}
    for n, parts in expected.get(comm.size, {}).items():
        assert chainermn.scatter_index(n, comm) == parts[comm.rank]
    exact = {3: {8: [(0, 3), (3, 6), (6, 8)], 11: [(0, 4), (4, 8), (8, 11)],
                 2: [(0, 1), (1, 2), (2, 2)]}}
    for n, parts in exact.get(comm.size, {}).items():
        assert chainermn.scatter_index(n, comm, force_equal_length=False) == parts[comm.rank]
    assert chainermn.scatter_index(0, comm) == (0, 0)


def case_empty_dataset(comm):
    data = chainermn.datasets.create_empty_dataset([1, 2, 3])
    assert len(data) == 3 and data[0] == () and data[:2] == [(), ()]


# Iterators

def case_multi_node_iterator(comm):
    """Examples of any kind, batches and positions are those of the master."""
    kinds = [
        [np.float32(i) for i in range(5)], [(np.full(2, i), i) for i in range(5)],
        [np.full(i, i) for i in range(5)], [{'a': i} for i in range(5)]]
    for data in kinds:
        for master in {0, comm.size - 1}:
            def make():
                return iterators.SerialIterator(data, 2, repeat=False, shuffle=False)  # noqa: B023
            made = chainermn.iterators.create_multi_node_iterator(
                make() if comm.rank == master else None, comm, master)
            expected = make()
            for _ in range(2):
                got = [(b, made.epoch, made.epoch_detail, made.previous_epoch_detail,
                        made.is_new_epoch, made.current_position) for b in made]
                want = [(b, expected.epoch, expected.epoch_detail, expected.previous_epoch_detail,
                         expected.is_new_epoch, expected.current_position) for b in expected]
                assert repr(got) == repr(want)
                made.reset()
                expected.reset()
            assert made.batch_size == 2 and made.repeat is False


def case_multi_node_iterator_goes_on(comm):
    folder = shared_folder(comm)

    def make():
        return chainermn.iterators.create_multi_node_iterator(
            iterators.SerialIterator(list(range(10)), 3), comm)

    one = make()
    for _ in range(4):
        one.next()
    serializers.save_npz(f'{folder}/iterator{comm.rank}', one)
    expected = [one.next() for _ in range(2)]
    other = make()
    serializers.load_npz(f'{folder}/iterator{comm.rank}', other)
    assert (other.epoch, other.is_new_epoch, other.current_position) == (1, True, 2)
    assert [other.next() for _ in range(2)] == expected
    comm.mpi_comm.Barrier()
    serializers.load_npz(f'{folder}/iterator0', other)  # that of the master will do for all
    assert (other.epoch, other.current_position) == (1, 2)


def case_synchronized_iterator(comm):
    np.random.seed(comm.rank)
    for make in (iterators.SerialIterator, iterators.MultithreadIterator):
        made = chainermn.iterators.create_synchronized_iterator(make(list(range(8)), 3), comm)
        batches = [made.next() for _ in range(9)]
        made.finalize()
        assert batches == comm.bcast_obj(batches)
        assert sorted(sum(batches, [])[:24]) == sorted(list(range(8)) * 3)
    ordered = iterators.SerialIterator([1, 2], 2, shuffle=False)
    assert chainermn.iterators.create_synchronized_iterator(ordered, comm).next() == [1, 2]

    class Sampler(iterators.OrderSampler):
        def __call__(self, order, position):
            return order

    with pytest.raises(ValueError, match='cannot seed the order sampler Sampler'):
        chainermn.iterators.create_synchronized_iterator(
            iterators.SerialIterator([1], 1, order_sampler=Sampler()), comm)
