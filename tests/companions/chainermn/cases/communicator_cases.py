"""Every method of communicators against what one process computes."""
import numpy as np
import pytest

import chainer
import chainer.links as L
import chainermn
from chainermn.communicators import _transfer

DTYPES = 'f2 f4 f8 i1 i2 i4 i8 u1 u4 u8 c8 c16 ?'.split()
SHAPES = [(), (0,), (1,), (3,), (2, 3), (0, 2), (2, 1, 3)]


def array(rank, shape=(2, 3), dtype='f4', which=0):
    """An array that any process can make: that of ``rank``."""
    values = np.random.RandomState(100 * which + rank).randint(0, 50, shape)
    return np.asarray(values).astype(dtype)


def check(actual, expected):
    assert type(actual) is np.ndarray
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_array_equal(actual, expected)
    assert actual.flags.writeable


def all_arrays():
    for dtype in DTYPES:
        yield (2, 3), dtype
    for shape in SHAPES:
        yield shape, 'f4'


def case_ranks(comm):
    assert comm.size == comm.mpi_comm.size and comm.rank == comm.mpi_comm.rank
    assert (comm.intra_rank, comm.intra_size) == (comm.rank, comm.size)  # one machine
    assert (comm.inter_rank, comm.inter_size) == (0, 1)


def case_ranks_on_several_machines(comm):
    class Names:
        """An MPI communicator over machines with two processes each."""

        def __getattr__(self, name):
            return getattr(comm.mpi_comm, name)

        def allgather(self, value):
            return [f'machine{rank // 2}' for rank in range(comm.size)]

    made = type(comm)(Names())
    assert made.intra_rank == comm.rank % 2
    assert made.inter_rank == comm.rank // 2
    assert made.inter_size == (comm.size + 1) // 2
    assert made.intra_size == min(2, comm.size - comm.rank // 2 * 2)


def case_allreduce(comm):
    for shape, dtype in all_arrays():
        if dtype == '?':
            continue
        own = array(comm.rank, shape, dtype)
        before = own.copy()
        total = sum(array(r, shape, dtype) for r in range(comm.size))
        check(comm.allreduce(own), np.asarray(total, dtype))
        check(own, before)


def case_allreduce_of_bool(comm):
    with pytest.raises(TypeError, match='allreduce does not support dtype bool'):
        comm.allreduce(np.ones(2, bool))


def case_allreduce_of_float16_sums_in_float32(comm):
    check(comm.allreduce(np.array([0.1], 'f2')),
          (np.float32(np.float16(0.1)) * comm.size).astype('f2').reshape(1))


def case_bcast(comm):
    for root in range(comm.size):
        for shape, dtype in all_arrays():
            x = array(root, shape, dtype)
            check(comm.bcast(x if comm.rank == root else None, root=root), x)
    check(comm.bcast(array(comm.rank), max_buf_len=5), array(0))


def case_gather(comm):
    for root in range(comm.size):
        for shape, dtype in all_arrays():
            ys = comm.gather(array(comm.rank, shape, dtype), root=root)
            if comm.rank != root:
                assert ys is None
                continue
            assert type(ys) is tuple and len(ys) == comm.size
            for r, y in enumerate(ys):
                check(y, array(r, shape, dtype))


def case_allgather(comm):
    for shape, dtype in all_arrays():
        ys = comm.allgather(array(comm.rank, shape, dtype))
        assert type(ys) is tuple and len(ys) == comm.size
        for r, y in enumerate(ys):
            check(y, array(r, shape, dtype))


def ragged(rank, which=0):
    """Number of axes, shape and dtype are those of the rank."""
    return array(rank, (which + 1, rank, 2)[rank % 3:], 'f4 f2 i8'.split()[rank % 3], which)


def case_ragged_shapes(comm):
    size, rank = comm.size, comm.rank
    for r, y in enumerate(comm.allgather(ragged(rank))):
        check(y, ragged(r))
    for r, y in enumerate(comm.gather(ragged(rank)) or ()):
        check(y, ragged(r))
    for r, y in enumerate(comm.alltoall([ragged(rank, to) for to in range(size)])):
        check(y, ragged(r, rank))
    check(comm.scatter([ragged(to) for to in range(size)] if rank == 0 else None), ragged(rank))


def case_alltoall(comm):
    for shape, dtype in all_arrays():
        ys = comm.alltoall(tuple(array(comm.rank, shape, dtype, to) for to in range(comm.size)))
        assert type(ys) is tuple and len(ys) == comm.size
        for r, y in enumerate(ys):
            check(y, array(r, shape, dtype, comm.rank))
    rows = comm.alltoall(np.full((comm.size, 2), comm.rank))  # along the first axis of an array
    assert [y.tolist() for y in rows] == [[r, r] for r in range(comm.size)]


def case_scatter(comm):
    for root in range(comm.size):
        for shape, dtype in all_arrays():
            xs = [array(to, shape, dtype) for to in range(comm.size)]
            check(comm.scatter(xs if comm.rank == root else None, root=root), xs[comm.rank])
    rows = array(0, (comm.size, 2))
    check(comm.scatter(rows), rows[comm.rank])


def case_send_and_recv(comm, n_processes=(2, 3, 4)):
    """Around a ring; the first process receives last."""
    size, rank = comm.size, comm.rank
    before, after = (rank - 1) % size, (rank + 1) % size
    for shape, dtype in all_arrays():
        if rank == 0:
            comm.send(array(0, shape, dtype), after, 3)
        check(comm.recv(before, 3), array(before, shape, dtype))
        if rank != 0:
            comm.send(array(rank, shape, dtype), after, 3)


def case_send_tuples(comm, n_processes=(2, 3)):
    messages = [(array(0), array(1, (), 'i8'), array(2, (0, 3), 'f2')), (array(3),), ()]
    for message in messages:
        for kind in (tuple, list):
            if comm.rank == 0:
                comm.send(kind(message), 1, 0)
            elif comm.rank == 1:
                got = comm.recv(0, 0)
                assert type(got) is tuple and len(got) == len(message)
                for y, x in zip(got, message, strict=True):
                    check(y, x)


def case_recv_from_anyone(comm, n_processes=(3, 4)):
    from mpi4py import MPI

    if comm.rank:
        comm.send((array(comm.rank), array(comm.rank, (5,), 'f8')), 0, comm.rank)
        return
    got = [comm.recv(MPI.ANY_SOURCE, MPI.ANY_TAG) for _ in range(comm.size - 1)]
    ranks = [r for x, _ in got for r in range(1, comm.size) if (array(r) == x).all()]
    assert sorted(ranks) == list(range(1, comm.size))
    for r, (_, y) in zip(ranks, got, strict=True):
        check(y, array(r, (5,), 'f8'))


def case_tags_tell_messages_apart(comm, n_processes=(2,)):
    if comm.rank == 0:
        comm.send(array(0), 1, 1)
        comm.send(array(1), 1, 2)
    else:
        check(comm.recv(0, 2), array(1))
        check(comm.recv(0, 1), array(0))


def not_contiguous(rank):
    x = array(rank, (4, 6, 2))
    return [x.T, x[::2, ::-1], x.transpose(1, 0, 2), np.asfortranarray(x),
            np.broadcast_to(x[:1], (4, 6, 2))]


def case_arrays_that_are_not_contiguous(comm):
    size, rank = comm.size, comm.rank
    for i, own in enumerate(not_contiguous(rank)):
        every = [not_contiguous(r)[i] for r in range(size)]
        check(comm.allreduce(own), sum(every))
        check(comm.bcast(own), every[0].copy())
        for y, x in zip(comm.allgather(own), every, strict=True):
            check(y, x.copy())
        for y, x in zip(comm.alltoall([own] * size), every, strict=True):
            check(y, x.copy())
        check(comm.scatter([own] * size), every[0].copy())
        if rank == 0 and size > 1:
            comm.send(own, 1, 0)
        elif rank == 1:
            check(comm.recv(0, 0), every[0].copy())


def case_messages_go_in_pieces(comm):
    """As those over 2 GB do, here with pieces of a few bytes, also across elements."""
    size, rank = comm.size, comm.rank
    whole, _transfer.PIECE = _transfer.PIECE, 7
    try:
        check(comm.allreduce(array(rank, (5, 3), 'f8')),
              sum(array(r, (5, 3), 'f8') for r in range(size)))
        check(comm.bcast(array(rank, (5, 3))), array(0, (5, 3)))
        for r, y in enumerate(comm.allgather(array(rank, (rank + 1, 3)))):
            check(y, array(r, (r + 1, 3)))
        for r, y in enumerate(comm.alltoall([array(rank, (3, to)) for to in range(size)])):
            check(y, array(r, (3, rank)))
        check(comm.scatter([array(to, (9,)) for to in range(size)]), array(rank, (9,)))
        assert comm.bcast_obj({'text': 'long' * 50}) == {'text': 'long' * 50}
        if rank == 0 and size > 1:
            comm.send((array(0, (5, 3)), array(1, (4,), 'f2')), 1, 0)
        elif rank == 1:
            x, y = comm.recv(0, 0)
            check(x, array(0, (5, 3)))
            check(y, array(1, (4,), 'f2'))
    finally:
        _transfer.PIECE = whole


def case_objects(comm):
    size, rank = comm.size, comm.rank
    for root in range(size):
        own = {'rank': rank, 'array': array(rank)}
        got = comm.bcast_obj(own if rank == root else None, root=root)
        assert got['rank'] == root
        check(got['array'], array(root))
        everybody = comm.gather_obj((rank, 'x'), root=root)
        assert everybody == ([(r, 'x') for r in range(size)] if rank == root else None)
    assert comm.bcast_obj('x' * 1000, max_buf_len=10) == 'x' * 1000
    assert comm.allreduce_obj(rank) == sum(range(size))
    assert comm.allreduce_obj(str(rank)) == ''.join(map(str, range(size)))
    with pytest.raises(ValueError, match='max_buf_len must be from 1 to 2147483647'):
        comm.bcast_obj(1, max_buf_len=1 << 31)


def case_send_objects(comm, n_processes=(2, 3)):
    if comm.rank == 0:
        comm.send_obj({'a': [1, 2]}, 1, 5)
        comm.send_obj(None, 1)
        comm.send_obj('tag 7', 1, tag=7)
    elif comm.rank == 1:
        assert comm.recv_obj(0, tag=7) == 'tag 7'
        assert comm.recv_obj(0, 5) == {'a': [1, 2]}
        assert comm.recv_obj(0) is None


def case_split(comm):
    part = comm.split(comm.rank % 2, -comm.rank)
    assert type(part) is type(comm)
    members = [r for r in range(comm.size) if r % 2 == comm.rank % 2][::-1]
    assert (part.size, part.rank) == (len(members), members.index(comm.rank))
    check(part.allreduce(np.array([comm.rank])), np.array([sum(members)]))
    check(comm.allreduce(np.array([1])), np.array([comm.size]))


def case_configuration(comm):
    made = chainermn.create_communicator('naive')
    assert made.get_config() == {'batched_copy': False}
    made.set_config('batched_copy')
    assert made.get_config('batched_copy') is True
    made.set_config('batched_copy', False)
    assert made.batched_copy is False
    assert chainermn.create_communicator('naive', batched_copy=True).get_config('batched_copy')
    with pytest.raises(ValueError, match='Unknown config: x'):
        made.set_config('x')
    with pytest.raises(KeyError):
        made.get_config('x')
    with pytest.raises(TypeError, match="unexpected keyword arguments \\['y'\\]"):
        made.set_config('batched_copy', True, y=1)
    with made.config_scope():
        assert made.within_config_scope
        made.mine = 3
    made.other = 4
    assert not made.within_config_scope
    assert made.get_config() == {'batched_copy': False, 'mine': 3}
    made.finalize()


def case_what_is_no_array(comm):
    for call in (comm.allreduce, comm.gather, comm.allgather):
        for wrong in (2.5, 2, None, np.float32(2), 'text', chainer.Variable(array(0))):
            with pytest.raises(TypeError, match='Message object must be numpy/cupy array'):
                call(wrong)
    with pytest.raises(TypeError, match='allreduce cannot handle tuple data'):
        comm.allreduce((array(0), array(0)))
    with pytest.raises(TypeError, match='allgather cannot handle tuple data'):
        comm.allgather((array(0), array(0)))
    with pytest.raises(TypeError, match='alltoall does not support dtype object'):
        comm.alltoall([np.array([None])] * comm.size)
    with pytest.raises(ValueError, match='The length of data must be same as communicator size'):
        comm.alltoall([array(0)] * (comm.size + 1))
    if comm.rank == 0:
        with pytest.raises(TypeError, match='Tuple data cannot be broadcasted'):
            comm.bcast((array(0), array(0)))
        with pytest.raises(ValueError, match='xs must be consistent with communicator size'):
            comm.scatter([array(0)] * (comm.size + 1))
        with pytest.raises(TypeError, match='scatter got .*NoneType'):
            comm.scatter(None)
        with pytest.raises(TypeError, match='send got .*float'):
            comm.send(1.5, 0, 0)


def case_processes_that_disagree(comm, n_processes=(2, 3)):
    with pytest.raises(ValueError, match=r'allreduce: the processes disagree: rank 0 has an array '
                                         r'float32\[1\]; rank 1 has an array float32\[2\]'):
        comm.allreduce(np.zeros(comm.rank + 1, 'f4'))
    with pytest.raises(ValueError, match=r'bcast_data: .* rank 0 has \[/W float32\[3, 1\], .*; '
                                         r'rank 1 has \[/W float32\[3, 2\]'):
        comm.bcast_data(L.Linear(comm.rank + 1, 3))
    link = L.Linear(2, 3)
    link.cleargrads()
    if comm.rank == 1:
        link.b.grad = np.zeros(3, 'f4')
    with pytest.raises(ValueError, match=r'multi_node_mean_grad: the processes disagree: rank 0 '
                                         r'has \[\]; rank 1 has \[/b float32\[3\]\]'):
        comm.multi_node_mean_grad(link)
    assert comm.allreduce_obj(1) == comm.size  # they are still in step


def communicators(comm):
    yield comm
    yield chainermn.create_communicator('flat', comm.mpi_comm)


def model_of(rank, dtype='f4'):
    model = chainer.Sequential(L.Linear(2, 3), L.Linear(3, 2, nobias=True))
    for i, param in enumerate(model.params()):
        param.array = array(rank, param.shape, dtype, i)
        param.grad = array(rank, param.shape, dtype, 10 + i) / np.dtype(dtype).type(8)
    return model


def case_bcast_data(comm):
    for each in communicators(comm):
        for call in (each.bcast_data, each.broadcast_data):
            model = model_of(each.rank)
            arrays = [p.array for p in model.params()]
            call(model)
            for param, first, before in zip(
                    model.params(), model_of(0).params(), arrays, strict=True):
                check(param.array, first.array)
                assert param.array is before
            uninitialized = L.Linear(None, 3)
            call(uninitialized)
            assert uninitialized.W.array is None


def case_multi_node_mean_grad(comm):
    for each in communicators(comm):
        for dtype in ('f2', 'f4', 'f8'):
            model = model_of(each.rank, dtype)
            each.multi_node_mean_grad(model)
            models = [model_of(r, dtype) for r in range(each.size)]
            for params in zip(model.params(), *[m.params() for m in models], strict=True):
                actual, *every = [p.grad for p in params]
                wide = 'f8' if dtype == 'f8' else 'f4'
                mean = sum(g.astype(wide) for g in every) * np.dtype(wide).type(1 / each.size)
                check(actual, mean.astype(dtype))


def case_gradients_of_several_dtypes(comm):
    for each in communicators(comm):
        link = chainer.Link()
        for name, dtype in zip('abc', ('f4', 'f8', 'f4'), strict=True):
            link.add_param(name, (2,), dtype)
            getattr(link, name).grad = np.full(2, each.rank, dtype)
        each.multi_node_mean_grad(link)
        for param in link.params():
            check(param.grad, np.full(2, (each.size - 1) / 2, param.dtype))


def case_gradients_that_are_missing(comm):
    for each in communicators(comm):
        link = L.Linear(2, 3)
        link.W.grad, link.b.grad = np.full((3, 2), each.rank, 'f4'), None
        each.multi_node_mean_grad(link)
        assert link.b.grad is None
        check(link.W.grad, np.full((3, 2), (each.size - 1) / 2, 'f4'))
        if each.rank:
            link.b.grad = np.ones(3, 'f4')
        each.multi_node_mean_grad(link, zero_fill=True)
        check(link.b.grad, np.full(3, np.float32(each.size - 1) * np.float32(1 / each.size)))
        each.multi_node_mean_grad(L.Linear(None, 3), zero_fill=True)


def case_old_name_of_the_mean(comm):
    link = L.Linear(1, 1, nobias=True)
    link.W.grad = np.full((1, 1), comm.rank, 'f4')
    with pytest.warns(DeprecationWarning, match='allreduce_grad\\(\\) is deprecated'):
        comm.allreduce_grad(link)
    check(link.W.grad, np.full((1, 1), (comm.size - 1) / 2, 'f4'))


def case_gradients_that_are_not_finite(comm):
    for each in communicators(comm):
        link = L.Linear(1, 1)
        link.W.grad = np.full((1, 1), np.inf if each.rank == 0 else 1, 'f4')
        link.b.grad = np.ones(1, 'f4')
        each.multi_node_mean_grad(link)
        assert np.isinf(link.W.grad)
        with chainer.using_config('debug', True):
            with pytest.raises(ValueError, match='Parameters diverged after allreduce'):
                each.multi_node_mean_grad(link)
            comm.allreduce_obj(0)


def case_names_of_communicators(comm):
    from chainermn.communicators.flat_communicator import FlatCommunicator
    from chainermn.communicators.naive_communicator import NaiveCommunicator

    assert type(comm) is NaiveCommunicator
    assert isinstance(comm, chainermn.CommunicatorBase)
    assert type(chainermn.create_communicator('flat', comm.mpi_comm)) is FlatCommunicator
    with pytest.raises(ValueError, match='Unrecognized communicator: "x". There are naive, flat'):
        chainermn.create_communicator('x')
    for name in ('hierarchical', 'two_dimensional', 'single_node'):
        with pytest.raises(ValueError, match=f'Unrecognized communicator: "{name}".*pure_nccl'):
            chainermn.create_communicator(name)
    with pytest.raises(ValueError, match="allreduce_grad_dtype is only available at 'pure_nccl'"):
        chainermn.create_communicator('naive', allreduce_grad_dtype=np.float16)
    with pytest.raises(TypeError, match="got unexpected keyword argument\\(s\\) 'foo'"):
        chainermn.create_communicator('naive', foo=1)
    with pytest.raises(RuntimeError, match='requires NCCL 2.0\\+, but NCCL is not available'):
        chainermn.create_communicator('pure_nccl')
    with pytest.raises(RuntimeError, match='NCCL is not available. Please confirm that NCCL'):
        chainermn.create_communicator('non_cuda_aware')


def case_dummy(comm):
    link = L.Linear(1, 1)
    link.W.grad, link.b.grad = np.full((1, 1), comm.rank, 'f4'), None
    chainermn.create_communicator('dummy').multi_node_mean_grad(link, zero_fill=True)
    check(link.W.grad, np.full((1, 1), comm.rank, 'f4'))
    check(link.b.grad, np.zeros(1, 'f4'))
