"""Functions that communicate, and their gradients by finite differences."""
import warnings

import numpy as np
import pytest

import chainer
import chainer.functions as F
from chainermn import functions

WEIGHTS = np.random.RandomState(7).uniform(-1, 1, (8, 8, 6))


def value(rank, size=3, which=0):
    return np.random.RandomState(50 * which + rank).uniform(-1, 1, size)


def weighted(ys, rank, f=F.sum):
    """A scalar of the variables that this process has: no two count the same."""
    total = 0
    for i, y in enumerate(ys):
        total = total + f(y * y * WEIGHTS[rank, i, :len(y)])
    return total


def check_gradients(comm, xs, call, loss_of):
    """Check the gradients of the sum of all processes' losses with respect to ``xs``.

    All inputs of all processes are moved at a time, in random directions: a wrong gradient in one
    of them changes what the gradients say of the step.

    Args:
        xs: Arrays of this process.
        call: Makes the communication of Variables; gives Variables.
        loss_of: Makes the loss of this process of them.
    """
    def losses():
        with chainer.no_backprop_mode():
            loss = loss_of(call([chainer.Variable(x) for x in xs]))
        return comm.allreduce_obj(float(loss.array))

    variables = [chainer.Variable(x) for x in xs]
    loss_of(call(variables)).backward()
    starts = [x.copy() for x in xs]
    eps = 1e-5
    for seed in range(2):
        rng = np.random.RandomState(100 * seed + comm.rank)
        directions = [rng.uniform(-1, 1, x.shape) for x in xs]
        found = []
        for sign in (1, -1):
            for x, start, direction in zip(xs, starts, directions, strict=True):
                x[...] = start + sign * eps * direction
            found.append(losses())
        actual = comm.allreduce_obj(sum(
            float((v.grad * d).sum()) for v, d in zip(variables, directions, strict=True)))
        expected = (found[0] - found[1]) / (2 * eps)
        assert abs(actual - expected) < 1e-7 * max(1, abs(expected)), (actual, expected)
    for x, start in zip(xs, starts, strict=True):
        x[...] = start


def case_allgather(comm):
    def loss(ys):
        assert [y.shape for y in ys] == [(r + 1,) for r in range(comm.size)]
        return weighted(ys, comm.rank)

    x = value(comm.rank, comm.rank + 1)  # shapes differ
    check_gradients(comm, [x], lambda xs: functions.allgather(comm, xs[0]), loss)


def case_alltoall(comm):
    xs = [value(comm.rank, 1 + to, to) for to in range(comm.size)]
    check_gradients(
        comm, xs, lambda xs: functions.alltoall(comm, xs), lambda ys: weighted(ys, comm.rank))


def case_bcast(comm):
    for root in range(comm.size):
        xs = [value(root)] if comm.rank == root else []
        check_gradients(
            comm, xs, lambda xs, root=root: [functions.bcast(comm, xs[0] if xs else None, root)],
            lambda ys: weighted(ys, comm.rank))


def case_scatter(comm):
    for root in range(comm.size):
        xs = [value(root, 1 + to, to) for to in range(comm.size)] if comm.rank == root else []
        check_gradients(
            comm, xs, lambda xs, root=root: [functions.scatter(comm, xs or None, root)],
            lambda ys: weighted(ys, comm.rank))


def case_gather(comm):
    for root in range(comm.size):
        def loss(ys, root=root):
            if comm.rank == root:
                return weighted(ys, comm.rank)
            zero, = ys  # backward starts from what has no elements
            return F.sum(zero)

        def call(xs, root=root):
            ys = functions.gather(comm, xs[0], root)
            assert isinstance(ys, tuple) is (comm.rank == root)
            return ys if comm.rank == root else (ys,)

        check_gradients(comm, [value(comm.rank, 1 + comm.rank)], call, loss)


def case_outputs_that_are_not_used(comm):
    """They send zeros back."""
    check_gradients(
        comm, [value(comm.rank)], lambda xs: functions.allgather(comm, xs[0])[-1:],
        lambda ys: weighted(ys, comm.rank))
    check_gradients(
        comm, [value(comm.rank, 3, to) for to in range(comm.size)],
        lambda xs: functions.alltoall(comm, xs)[:1], lambda ys: weighted(ys, comm.rank))


def case_several_in_a_row(comm):
    def call(xs):
        y = sum(functions.allgather(comm, F.tanh(xs[0])))
        y = functions.alltoall(comm, [y * (i + comm.rank) for i in range(comm.size)])
        return [functions.bcast(comm, sum(y), comm.size - 1)]

    check_gradients(comm, [value(comm.rank)], call, lambda ys: weighted(ys, comm.rank))


def case_wrong_numbers_of_variables(comm):
    xs = [chainer.Variable(value(0))] * (comm.size + 1)
    with pytest.raises(ValueError, match='length of xs must be same as communicator size'):
        functions.alltoall(comm, xs)
    if comm.rank == 0:
        with pytest.raises(ValueError, match='xs must be consistent with communicator size'):
            functions.scatter(comm, xs)


def case_sending_to_oneself(comm):
    with pytest.raises(ValueError, match='rank must be different .* otherwise deadlock occurs'):
        functions.send(value(0), comm, comm.rank)
    with pytest.raises(ValueError, match='rank must be different .* otherwise deadlock occurs'):
        functions.recv(comm, comm.rank)
    with pytest.raises(ValueError, match='send needs at least one variable'):
        functions.send((), comm, comm.rank + 1)


def case_send_and_recv(comm, n_processes=(2, 3)):
    """From the first process to the second."""
    for sizes in ((3,), (3, 1, 2)):
        def call(xs):
            if comm.rank == 0:
                return [functions.send(xs if len(xs) > 1 else xs[0], comm, 1)]
            if comm.rank == 1:
                ys = functions.recv(comm, 0)
                assert isinstance(ys, tuple) is (len(sizes) > 1)  # noqa: B023
                return ys if isinstance(ys, tuple) else (ys,)
            return [chainer.Variable(np.zeros(1))]

        def loss(ys):
            return weighted(ys, 1) if comm.rank == 1 else F.sum(ys[0])

        xs = [value(0, size, i) for i, size in enumerate(sizes)] if comm.rank == 0 else []
        check_gradients(comm, xs, call, loss)


def case_there_and_back(comm, n_processes=(2, 3)):
    """A delegate variable ties both ways."""
    def call(xs):
        if comm.rank == 0:
            sent = functions.send(F.sin(xs[0]), comm, 1)
            return [functions.recv(comm, 1, delegate_variable=sent)]
        if comm.rank == 1:
            return [functions.send(functions.recv(comm, 0) * xs[0], comm, 0)]
        return [chainer.Variable(np.zeros(1))]

    def loss(ys):
        return weighted(ys, 0) if comm.rank == 0 else F.sum(ys[0])

    check_gradients(comm, [value(comm.rank)] if comm.rank < 2 else [], call, loss)


def case_pseudo_connect(comm, n_processes=(2, 3)):
    """Two messages, and a result of one's own beside them."""
    def call(xs):
        if comm.rank == 0:
            sent = functions.send(xs[0] * 2, comm, 1, tag=1)
            sent = functions.pseudo_connect(sent, functions.send(xs[0] * 3, comm, 1, tag=2))
            a, b = functions.pseudo_connect(sent, xs[0] * 1, xs[0] * 5)
            return [a, b]
        if comm.rank == 1:
            b, a = functions.recv(comm, 0, tag=2), functions.recv(comm, 0, tag=1)
            return [a * b]
        return [chainer.Variable(np.zeros(1))]

    def loss(ys):
        return weighted(ys, comm.rank) if comm.rank < 2 else F.sum(ys[0])

    check_gradients(comm, [value(0)] if comm.rank == 0 else [], call, loss)


def case_what_pseudo_connect_returns(comm):
    delegate = chainer.Variable(np.zeros(0, 'f4'))
    x, y = chainer.Variable(value(0)), chainer.Variable(value(1))
    one = functions.pseudo_connect(delegate, x)
    assert isinstance(one, chainer.Variable)
    np.testing.assert_array_equal(one.array, x.array)
    both = functions.pseudo_connect(delegate, x, y)
    assert isinstance(both, tuple) and len(both) == 2
    assert functions.pseudo_connect(None, x) is x
    F.sum(both[1] * 3).backward()
    np.testing.assert_array_equal(y.grad, [3, 3, 3])
    assert delegate.grad.shape == (0,)


def case_labels_and_tuples(comm, n_processes=(2,)):
    if comm.rank == 0:
        sent = functions.send(value(0), comm, 1)
        assert sent.creator.label == 'Send (peer_rank: 1)'
        assert (sent.shape, sent.dtype) == ((0,), np.float32)
        functions.send(value(0), comm, 1)
    else:
        got, = functions.recv(comm, 0, force_tuple=True)
        assert got.creator.label == 'Recv (peer_rank: 0)'
        with chainer.no_backprop_mode():
            assert functions.recv(comm, 0).creator is None


def case_dtypes(comm):
    for dtype in ('f2', 'f4', 'f8'):
        x = chainer.Variable(np.full(2, comm.rank, dtype))
        ys = functions.allgather(comm, x)
        assert [y.dtype for y in ys] == [np.dtype(dtype)] * comm.size
        sum(F.sum(y) for y in ys).backward()
        assert x.grad.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(x.grad, np.full(2, comm.size))


def case_they_are_experimental(comm):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        functions.allgather(comm, value(0))
    assert 'chainermn.functions.allgather is experimental' in str(caught[0].message)


def case_twice_differentiating(comm):
    x = chainer.Variable(value(0))
    y = functions.allgather(comm, x)[0]
    gx, = chainer.grad([F.sum(y * y)], [x], enable_double_backprop=True)
    with pytest.raises(RuntimeError, match='cannot twice-differentiate an old-style Function'):
        chainer.grad([F.sum(gx)], [x])


def case_inside_a_compiled_method(comm):
    """Communication stays define-by-run; what is around it is compiled."""
    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l1 = chainer.links.Linear(3, 4, initialW=np.full((4, 3), .1 + comm.rank))
                self.l2 = chainer.links.Linear(4, 2, initialW=np.full((2, 4), .2))

        def forward(self, x):
            h = F.tanh(self.l1(x))
            h = sum(functions.allgather(comm, h))
            return F.sum(F.tanh(self.l2(h)))

    def run(model, n):
        rng = np.random.RandomState(comm.rank)
        found = []
        for _ in range(n):
            model.cleargrads()
            loss = model(rng.uniform(-1, 1, (5, 3)).astype('f4'))
            loss.backward()
            found.append([loss.array] + [p.grad for _, p in sorted(model.namedparams())])
        return found

    class Compiled(Model):
        forward = chainer.static_graph(Model.forward)

    for actual, expected in zip(run(Compiled(), 5), run(Model(), 5), strict=True):
        for a, b in zip(actual, expected, strict=True):
            np.testing.assert_array_equal(a, b)
