"""What the examples on several processes have in common."""
import chainer
import chainermn


def add_flags(parser):
    parser.add_argument(
        '--communicator', '-c', help='naive, flat, pure_nccl or non_cuda_aware; by default naive '
        'on the CPU and pure_nccl on GPUs')


def make_communicator(parser, args):
    """Return the communicator; each process of a machine uses a GPU of its own."""
    on_gpu = args.device.xp is not chainer.get_device('@numpy').xp
    name = args.communicator or ('pure_nccl' if on_gpu else 'naive')
    try:
        comm = chainermn.create_communicator(name)
    except (ImportError, RuntimeError, ValueError) as error:
        parser.error(str(error))
    if on_gpu:
        args.device = chainer.get_device(f'@cupy:{comm.intra_rank}')
        args.device.use()
    if comm.rank == 0:
        print(f'{comm.size} processes on {comm.inter_size} machines, communicator {name}')
    return comm


def split_in_pairs(comm):
    """Return communicators of the two processes of a pair, and of those of equal rank in pairs.

    Two processes hold the two halves of a model; more are several pairs, each with a part of the
    data.
    """
    if comm.size % 2:
        raise SystemExit('the model is on two processes: start an even number of them')
    return comm.split(comm.rank // 2, comm.rank), comm.split(comm.rank % 2, comm.rank)
