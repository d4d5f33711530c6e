"""What communication costs: all-reduce as sizes grow, and training on several processes.

    python benchmarks/bench_chainermn.py --processes 1 2 > benchmarks/results/chainermn.md

prints tables in Markdown, in about two minutes; the machine must be idle. The network is trained
define-by-run, with each layer a static graph, and as one static graph as a whole, whose backward
is cut into parts where gradients overlap with it. Each process trains with a mini-batch of the
same size. ``alone`` is as many processes that do not communicate; the efficiency is the time of
these by the time of those that do, the median of rounds in which all ways take turns, so that what
else the machine does counts for all. Times are the best of all rounds.

    python benchmarks/bench_chainermn.py --paper

computes what more workers would give (docs/scaling.md).
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import time

import numpy as np

SIZES = [4 ** k for k in range(1, 13)]


def best(function, times, comm):
    """Seconds of the best repetition, of the slowest process."""
    found = []
    for _ in range(times):
        comm.mpi_comm.Barrier()
        begin = time.perf_counter()
        function()
        found.append(comm.mpi_comm.allreduce(time.perf_counter() - begin, op=_max()))
    return min(found)


def _max():
    from mpi4py import MPI

    return MPI.MAX


def allreduce(comm):
    from chainermn.communicators import _transfer

    for size in SIZES:
        x = np.ones(size, 'f4')
        calls = max(1, min(50, 2 ** 18 // size))
        seconds = best(lambda: [_transfer.add_up(comm.mpi_comm, x) for _ in range(calls)],  # noqa: B023
                       7, comm) / calls
        if comm.rank == 0:
            print(f'allreduce {comm.size} {4 * size} {seconds * 1e6:.1f}', flush=True)


KINDS = 'eager', 'compiled_layers', 'compiled_whole'


def make_model(kind):
    import chainer
    import chainer.functions as F
    import chainer.links as L

    class Block(chainer.Chain):
        def __init__(self, n):
            super().__init__()
            with self.init_scope():
                self.l = L.Linear(None, n)

        def forward(self, x):
            return F.relu(self.l(x))

    if kind == 'compiled_layers':
        Block.forward = chainer.static_graph(Block.forward)

    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.blocks = chainer.ChainList(*[Block(n) for n in (1000, 1000, 1000, 10)])

        def forward(self, x, t):
            for block in self.blocks:
                x = block(x)
            return F.softmax_cross_entropy(x, t)

    if kind == 'compiled_whole':
        Model.forward = chainer.static_graph(Model.forward)
    return Model()


HOW = 'alone', 'naive', 'flat', 'overlap'
WARM_UP = 10  # rounds


def train(comm):
    import chainer
    import chainermn

    x = np.random.RandomState(comm.rank).uniform(0, 1, (100, 784)).astype('f4')
    t = np.arange(100, dtype='i4') % 10
    chainer.global_config.static_budget = None  # programs are there after the first rounds
    for kind in KINDS:
        ways = {}
        for how in HOW:
            model = make_model(kind)
            optimizer = chainer.optimizers.MomentumSGD(0.01)
            if how != 'alone':
                each = chainermn.create_communicator(
                    'naive' if how == 'overlap' else how, comm.mpi_comm)
                optimizer = chainermn.create_multi_node_optimizer(
                    optimizer, each, overlap=how == 'overlap')
            optimizer.setup(model)
            ways[how] = model, optimizer
        found = {how: [] for how in HOW}
        for round_number in range(WARM_UP + 24):
            for how, (model, optimizer) in ways.items():
                comm.mpi_comm.Barrier()
                begin = time.perf_counter()
                for _ in range(2):
                    optimizer.update(model, x, t)
                seconds = comm.mpi_comm.allreduce(time.perf_counter() - begin, op=_max()) / 2
                if round_number >= WARM_UP:
                    found[how].append(seconds)
        if comm.rank == 0:
            for how in HOW:
                ratio = np.median(np.array(found['alone']) / found[how])
                print(f'train {comm.size} {kind} {how} '
                      f'{min(found[how]) * 1e3:.2f} {ratio:.2f}', flush=True)


def run(n):
    import os

    beside = pathlib.Path(sys.executable).with_name('mpiexec')
    command = [str(beside) if beside.exists() else shutil.which('mpiexec'), '-n', str(n),
               sys.executable, __file__, '--worker']
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env={
        **os.environ, 'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1'})
    if done.returncode:
        sys.exit(done.stderr)
    return [line.split() for line in done.stdout.splitlines()]


# Latency of a message (seconds) and bytes in a second, of one port.
NETWORKS = {
    '10 Gb/s Ethernet': (50e-6, 1.1e9),
    'InfiniBand FDR, 56 Gb/s': (1.5e-6, 6e9),
    'InfiniBand EDR, 100 Gb/s': (1.2e-6, 11e9),
}
# Bytes of gradients, seconds of an iteration without communication, seconds of packing.
MODELS = {
    'the network above: 11 MB, 15 ms': (11.2e6, 15.3e-3, 1.2e-3),
    'ResNet-50: 102 MB, 145 ms': (102e6, 145e-3, 11e-3),
}
ADDED = 5e9  # bytes added up in a second


def seconds_of_allreduce(n, size, latency, bandwidth):
    """Of halves exchanged and added, and exchanged back (Rabenseifner's algorithm)."""
    share = (n - 1) / n * size
    return 2 * np.log2(n) * latency + 2 * share / bandwidth + share / ADDED


def paper(workers=(16, 256, 4096)):
    print('| model | network | ' + ' | '.join(f'{n} workers' for n in workers) + ' |')
    print('|---|---|' + '---|' * len(workers))
    for model, (size, computing, packing) in MODELS.items():
        for network, port in NETWORKS.items():
            cells = []
            for n in workers:
                cost = seconds_of_allreduce(n, size, *port)
                # Two thirds of an iteration is backward; the last bucket waits for all of it.
                left = max(cost - computing * 2 / 3, cost * min(1, 4e6 / size))
                plain = computing / (computing + packing + cost)
                overlapped = computing / (computing + packing + left)
                cells.append(f'{cost * 1e3:.1f} ms: {plain:.2f}, {overlapped:.2f}')
            print(f'| {model} | {network} | ' + ' | '.join(cells) + ' |')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--processes', type=int, nargs='+', default=[1, 2])
    parser.add_argument('--worker', action='store_true', help=argparse.SUPPRESS)
    parser.add_argument('--paper', action='store_true', help='what more workers would give')
    args = parser.parse_args()
    if args.paper:
        paper()
        return
    if args.worker:
        import chainermn

        comm = chainermn.create_communicator('naive')
        allreduce(comm)
        train(comm)
        return
    rows = [row for n in args.processes for row in run(n)]
    several = [n for n in args.processes if n > 1]
    cost = {(int(r[1]), int(r[2])): float(r[3]) for r in rows if r[0] == 'allreduce'}
    print('| bytes | ' + ' | '.join(f'{n} processes: us | GB/s' for n in several) + ' |')
    print('|---|' + '---|---|' * len(several))
    for size in SIZES:
        cells = [f'{cost[n, 4 * size]:.1f} | {4 * size / cost[n, 4 * size] / 1e3:.2f}'
                 for n in several]
        print(f'| {4 * size} | ' + ' | '.join(cells) + ' |')
    times = {(int(r[1]), r[2], r[3]): r[4:] for r in rows if r[0] == 'train'}
    print('\n| model | gradients | ' + ' | '.join(
        f'{n} processes: ms | efficiency' for n in args.processes) + ' |')
    print('|---|---|' + '---|---|' * len(args.processes))
    for kind in KINDS:
        for how in HOW:
            cells = [' | '.join(times[n, kind, how]) for n in args.processes]
            print(f'| {kind.replace("_", ", ")} | {how} | ' + ' | '.join(cells) + ' |')


if __name__ == '__main__':
    main()
