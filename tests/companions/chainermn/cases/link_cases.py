"""Links over several processes against those of one."""
import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
import chainermn
from chainermn import links


def batch(rank, n=4, dtype='f4', shape=(3,)):
    return np.random.RandomState(rank).uniform(-1, 2, (n, *shape)).astype(dtype) * (rank + 1)


def normalize(link, xs):
    """Outputs, gradients of the inputs, of gamma and of beta, of a loss that is no sum of y."""
    link.cleargrads()
    x = chainer.Variable(xs)
    y = link(x)
    weight = np.arange(xs[0].size, dtype=y.dtype).reshape(xs[0].shape)
    F.sum(y * y * y + y * y * weight).backward()
    return y.array, x.grad, link.gamma.grad, link.beta.grad


def case_batch_normalization_is_that_of_the_whole_batch(comm):
    """Of batches of different sizes, too."""
    for sizes in ([4] * comm.size, range(2, 2 + comm.size)):
        for dtype, tolerance in (('f2', 1e-2), ('f4', 1e-4), ('f8', 1e-9)):
            for shape in ((3,), (3, 2, 2)):
                wide = 'f8' if dtype == 'f8' else 'f4'
                xs = [batch(r, n, dtype, shape) for r, n in enumerate(sizes)]
                one = L.BatchNormalization(3, dtype=wide)
                expected = normalize(one, np.concatenate(xs))
                many = links.MultiNodeBatchNormalization(3, comm, dtype=wide)
                actual = normalize(many, xs[comm.rank])
                start = sum(list(sizes)[:comm.rank])
                part = slice(start, start + len(xs[comm.rank]))
                for a, e in ((actual[0], expected[0][part]), (actual[1], expected[1][part]),
                             (actual[2], expected[2] / comm.size),
                             (actual[3], expected[3] / comm.size),
                             (many.avg_mean, one.avg_mean), (many.avg_var, one.avg_var)):
                    assert a.dtype == e.dtype
                    np.testing.assert_allclose(a, e, rtol=tolerance, atol=tolerance)


def case_batch_normalization_in_test_mode(comm):
    many = links.MultiNodeBatchNormalization(3, comm)
    one = L.BatchNormalization(3)
    for link in (many, one):
        link.avg_mean[...] = [1, 2, 3]
        link.avg_var[...] = [3, 2, 1]
    with chainer.using_config('train', False):
        np.testing.assert_array_equal(many(batch(0)).array, one(batch(0)).array)


def case_batch_normalization_without_scale_and_shift(comm):
    link = links.MultiNodeBatchNormalization(3, comm, use_gamma=False, use_beta=False)
    assert link.gamma is None and link.beta is None
    y = link(batch(comm.rank)).array
    whole = np.concatenate([batch(r) for r in range(comm.size)])
    np.testing.assert_allclose(
        y, (batch(comm.rank) - whole.mean(0)) / np.sqrt(whole.var(0) + 2e-5), rtol=1e-4, atol=1e-5)


def case_finetuning(comm):
    link = links.MultiNodeBatchNormalization(3, comm)
    for _ in range(2):
        link.start_finetuning()
        for i in range(3):
            link(batch(comm.rank + i), finetune=True)
        assert link.N == 3
    means = [np.concatenate([batch(r + i) for r in range(comm.size)]).mean(0) for i in range(3)]
    np.testing.assert_allclose(link.avg_mean, np.mean(means, 0), rtol=1e-4)


def case_recomputing_leaves_running_averages_alone(comm):
    link = links.MultiNodeBatchNormalization(3, comm)
    x = chainer.Variable(batch(comm.rank))
    F.sum(F.forget(link, x) ** 3).backward()
    assert np.all(link.avg_mean != 0)
    np.testing.assert_allclose(
        link.avg_mean, 0.1 * np.concatenate([batch(r) for r in range(comm.size)]).mean(0),
        rtol=1e-5)


def case_communication_backends(comm):
    for name in ('auto', 'mpi'):
        links.MultiNodeBatchNormalization(3, comm, communication_backend=name)
    with pytest.raises(ValueError, match='nccl is not supported in MultiNodeBatchNormalization'):
        links.MultiNodeBatchNormalization(3, comm, communication_backend='nccl')
    with pytest.raises(ValueError, match='MultiNodeBatchNormalization does not support x'):
        links.MultiNodeBatchNormalization(3, comm, communication_backend='x')


def case_batch_normalization_in_a_compiled_method(comm):
    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l1 = L.Linear(3, 4, initialW=np.full((4, 3), .1))
                self.bn = links.MultiNodeBatchNormalization(4, comm)
                self.l2 = L.Linear(4, 2, initialW=np.full((2, 4), .2))

        def forward(self, x):
            return self.l2(F.relu(self.bn(self.l1(x) ** 2)))

    class Compiled(Model):
        forward = chainer.static_graph(Model.forward)

    def run(model):
        for i in range(5):
            model.cleargrads()
            F.sum(model(batch(comm.rank + i)) ** 2).backward()
            yield [p.grad for _, p in sorted(model.namedparams())] + [model.bn.avg_mean.copy()]

    for actual, expected in zip(run(Compiled()), run(Model()), strict=True):
        for a, b in zip(actual, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def case_create_mnbn_model(comm):
    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.bn = L.BatchNormalization(3, decay=.5, eps=.1, use_beta=False)
                self.parts = chainer.Sequential(
                    L.Linear(3, 3), F.relu,
                    chainer.ChainList(L.BatchNormalization(3), L.BatchRenormalization(3)))

        def forward(self, x):
            return self.parts[2][0](self.parts[0](self.bn(x)))

    model = Model()
    model.bn.gamma.array[...] = 7
    model.bn.N = 5
    model.bn.avg_mean[...] = 3
    made = links.create_mnbn_model(model, comm)
    assert type(made) is Model and type(model.bn) is L.BatchNormalization
    for new, old in ((made.bn, model.bn), (made.parts[2][0], model.parts[2][0])):
        assert type(new) is links.MultiNodeBatchNormalization
        assert (new.decay, new.eps, new.N, new.name) == (old.decay, old.eps, old.N, old.name)
        np.testing.assert_array_equal(new.avg_mean, old.avg_mean)
        np.testing.assert_array_equal(new.gamma.array, old.gamma.array)
        assert new.gamma.array is not old.gamma.array
    assert made.bn.beta is None
    assert type(made.parts[2][1]) is L.BatchRenormalization
    assert made.parts[0].W is not model.parts[0].W
    assert sorted(n for n, _ in made.namedparams()) == sorted(n for n, _ in model.namedparams())
    assert made(batch(comm.rank)).shape == (4, 3)
    assert type(links.create_mnbn_model(L.BatchNormalization(3), comm)) \
        is links.MultiNodeBatchNormalization
    for wrong in (L.BatchNormalization(axis=0), L.BatchNormalization(3, axis=(0, 1))):
        with pytest.raises(ValueError, match='an axis of its own, or whose size the first call'):
            links.create_mnbn_model(chainer.Sequential(wrong), comm)


class Scale(chainer.Chain):
    """Multiplies its inputs with each other and with a parameter."""

    def __init__(self, scale, copies=1):
        super().__init__()
        self.copies = copies
        with self.init_scope():
            self.s = chainer.Parameter(np.array(scale, 'f8'))

    def forward(self, *xs):
        if isinstance(xs[0], tuple):
            xs = xs[0]
        y = F.broadcast_to(self.s, xs[0].shape)
        for x in xs:
            y = y * x
        return y if self.copies == 1 else tuple(y * (i + 1) for i in range(self.copies))


X = np.array([1., 2.])


def run_chain_list(comm, parts):
    """Parts of the model by rank: (scale, rank_in, rank_out, number of outputs)."""
    model = chainermn.MultiNodeChainList(comm)
    for scale, rank_in, rank_out, copies in parts.get(comm.rank, ()):
        model.add_link(Scale(scale, copies), rank_in, rank_out)
    if len(model) == 0:
        return None, []
    model.cleargrads()
    y = model(X)
    F.sum(y).backward()
    return y.array, [float(link.s.grad) for link in model]


def case_chain_list_there_and_back(comm, n_processes=(2, 3)):
    y, grads = run_chain_list(comm, {0: [(2., None, 1, 1), (5., 1, None, 1)], 1: [(3., 0, 0, 1)]})
    if comm.rank == 0:
        assert y.tolist() == [30, 60]
        assert grads == [45, 18]
    elif comm.rank == 1:
        assert y.shape == (0,)
        assert grads == [30]


def case_chain_list_of_a_ring(comm, n_processes=(3, 4)):
    last = comm.size - 1
    parts = {0: [(2., None, 1, 1), (2., last, None, 1)]}
    parts.update({r: [(2., r - 1, (r + 1) % comm.size, 1)] for r in range(1, comm.size)})
    y, grads = run_chain_list(comm, parts)
    if comm.rank == 0:
        assert y.tolist() == [2. ** (comm.size + 1), 2. ** (comm.size + 2)]
    assert grads == [3 * 2. ** comm.size] * len(parts[comm.rank])


def case_chain_list_of_tuples(comm, n_processes=(2,)):
    """The two numbers that are sent are y and 2y."""
    y, grads = run_chain_list(comm, {0: [(3., None, 1, 2)], 1: [(5., 0, None, 1)]})
    if comm.rank == 1:
        assert y.tolist() == [5 * 3 * 6, 5 * 6 * 12]
        assert grads == [18 + 72]
    else:
        assert grads == [2 * 2 * 5 * 3 * (1 + 4)]


def case_chain_list_with_several_sources_and_targets(comm, n_processes=(3, 4)):
    y, grads = run_chain_list(comm, {
        0: [(2., None, [1, 2], 1), (7., [2, 1], None, 1)],
        1: [(3., 0, 0, 1)], 2: [(5., 0, 0, 1)]})
    if comm.rank == 0:
        assert y.tolist() == [2 * 3 * 2 * 5 * 7, 4 * 3 * 4 * 5 * 7]
        assert grads == [(1 + 4) * 2 * 2 * 3 * 5 * 7, (1 + 4) * 4 * 15]
    elif comm.rank in (1, 2):
        assert grads == [5 * 4 * 15 * 7 / (3 if comm.rank == 1 else 5)]


def case_chain_list_whose_result_is_not_the_last(comm, n_processes=(2,)):
    y, grads = run_chain_list(comm, {
        0: [(2., None, None, 1), (3., None, 1, 1)], 1: [(5., 0, None, 1)]})
    if comm.rank == 0:
        assert y.tolist() == [2, 4]
        assert grads == [3, 15]
    else:
        assert y.tolist() == [15, 30]
        assert grads == [9]


def case_chain_list_errors(comm):
    model = chainermn.MultiNodeChainList(comm)
    with pytest.raises(ValueError, match='MultiNodeChainList has no links'):
        model(X)
    model.add_link(Scale(1.))
    with pytest.raises(ValueError, match='more than one link whose rank_out is None'):
        model.add_link(Scale(1.))


def case_n_step_rnn_goes_on_in_the_next_process(comm, n_processes=(2, 3)):
    """Two halves of a sequence in two processes are the whole in one."""
    rng = np.random.RandomState(0)
    first = [rng.uniform(-1, 1, (n, 3)).astype('f4') for n in (3, 2)]
    second = [rng.uniform(-1, 1, (2, 3)).astype('f4') for _ in range(2)]
    for kind in (L.NStepLSTM, L.NStepGRU, L.NStepRNNTanh, L.NStepRNNReLU):
        def make():
            np.random.seed(0)
            link = kind(2, 3, 4, 0.)  # noqa: B023
            link.cleargrads()
            return link

        def both(rnn, states):
            *states, ys1 = rnn(*states, first)
            *states, ys2 = rnn(*states, second)
            return [*states, *ys2]

        one = make()
        expected = both(one, [None] * one.n_cells)
        sum(F.sum(y * y) for y in expected).backward()
        if comm.rank > 1:
            continue
        own = make()
        rnn = links.create_multi_node_n_step_rnn(
            own, comm, rank_in=0 if comm.rank else None, rank_out=None if comm.rank else 1)
        *states, ys, delegate = rnn(second if comm.rank else first)
        assert len(states) == own.n_cells
        if comm.rank == 0:
            delegate.backward()
        else:
            assert delegate is None
            actual = [*states, *ys]
            sum(F.sum(y * y) for y in actual).backward()
            for a, e in zip(actual, expected, strict=True):
                np.testing.assert_allclose(a.array, e.array, rtol=1e-5)
        pair = comm.split(0, comm.rank) if comm.size == 2 else None
        if pair is not None:  # the gradients of both halves together are those of the whole
            for a, e in zip(own.params(), one.params(), strict=True):
                np.testing.assert_allclose(
                    pair.allreduce(a.grad), e.grad, rtol=1e-4, atol=1e-6)


def case_n_step_rnn_of_another_link(comm):
    with pytest.raises(ValueError, match='link must be NStepRNN and its inherited link'):
        links.create_multi_node_n_step_rnn(L.Linear(2, 2), comm)
