"""The workloads on a GPU: eager CuPy against compiled methods, and kernels against a copy.

    python benchmarks/bench_cuda.py                  # all workloads
    python benchmarks/bench_cuda.py small mlp --rounds 9
    python benchmarks/bench_cuda.py --check          # one step each: whether it runs, and is equal
    python benchmarks/bench_cuda.py --peers PYTHON   # that has PyTorch or JAX with CUDA, too
    PYTHONPATH=tests/simulated python benchmarks/bench_cuda.py --check      # without a GPU

Needs CuPy and a GPU; it has run on the simulated one only, where times mean nothing. Times are of a
training step and of inference, in milliseconds, taken with events of the device around several
steps: eager, with programs, and with programs as CUDA graphs. "equal" says whether parameters and
results of all are the same bit for bit, "graphs" how many of the programs are CUDA graphs; the
others say why not. "MiB" is what each way has taken of the GPU's memory at the end, with what CuPy
keeps for later and the code of kernels. The last table is the bandwidth of fused kernels of one,
two and four inputs against that of a copy of as many bytes. With ``--peers`` the same workloads by
PyTorch (eager and ``torch.compile``) and JAX come before it, from ``benchmarks/peers``.
"""
import argparse
import gc
import statistics
import traceback

import bench_native
import bench_peers
import numpy as np

import chainer
from chainer.backends import cuda

WAYS = ('eager', 'programs', 'graphs')


def steps(name, way):
    """The training and the inference step of a workload on the GPU, its state, and the model."""
    make, x, t, loss, optimizer, _ = bench_native.WORKLOADS[name]
    device = chainer.get_device('@cupy:0')
    np.random.seed(0)
    cuda.cupy.random.seed(0)
    model = make()
    if way != 'eager':
        chain = type(model)
        model.__class__ = type(chain.__name__, (chain,), {
            'forward': chainer.static_graph(chain.forward)})
    model.to_device(device)
    x, t = chainer.Variable(device.send(x)), device.send(t)
    rule = None if optimizer is None else optimizer().setup(model)
    whole = optimizer is not None and loss is None  # the loss is in the method

    def train():
        x.cleargrad()
        if whole:
            rule.update(model, x, t)
            return
        model.cleargrads()
        y = model(x)
        if loss is None:
            y.grad = t
            y.backward()
            return
        loss(y, t).backward()
        rule.update()

    def infer():
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            return model(x, t) if whole else model(x)

    def state():
        return [cuda.to_cpu(a).tobytes() for a in (
            infer().array, *(p.array for p in model.params()))]

    return train, infer, state, model


def seconds(run, rounds, number):
    """Seconds a run, the median of several rounds, on the clock of the device."""
    means = []
    for _ in range(rounds):
        start, stop = cuda.Event(), cuda.Event()
        start.record()
        for _ in range(number):
            run()
        stop.record()
        stop.synchronize()
        means.append(cuda.cupy.cuda.get_elapsed_time(start, stop) / 1e3 / number)
    return statistics.median(means)


def compare(name, ways, rounds, number):
    """One row, of training and inference; whether all ways gave the same."""
    found, states, memory = [], [], []
    for way in ways:
        gc.collect()
        cuda.cupy.get_default_memory_pool().free_all_blocks()
        free = cuda.cupy.cuda.Device().mem_info[0]
        with chainer.using_config('static_cuda_graphs', way == 'graphs'):
            train, infer, state, model = steps(name, way)
            for _ in range(12):
                train()
                infer()
            states.append(state())
            with chainer.using_config('static_check', 'never'):
                found.append([1e3 * seconds(run, rounds, number) for run in (train, infer)])
        memory.append((free - cuda.cupy.cuda.Device().mem_info[0]) >> 20)
    equal = all(state == states[0] for state in states)
    columns = '   '.join(
        ' '.join(f'{times[k]:9.3f}' for times in found) for k in (0, 1))
    programs = [program for report in model.schedule_manager.programs
                for program in report._schedule.cuda_graphs]
    graphs = sum(program.graphs > 0 for program in programs)
    print(f'{name:8} {columns}   {"equal" if equal else "differ"}   '
          f'{graphs} of {len(programs)}   {" ".join(map(str, memory))}')
    for program in programs:
        if not program.graphs:
            print(f'         {program.title}: {program.why_not or "its addresses are new"}')
    return equal


PEERS = {'PyTorch': ('torch_steps', 'eager'), 'torch.compile': ('torch_steps', 'compile'),
         'JAX, jit': ('jax_steps', 'jit')}


def peers(name, python, rounds, number, device='cuda'):
    """A row for each peer: milliseconds of training and of inference, by the clock."""
    rows = {way: [] for way in PEERS}
    for mode in bench_peers.MODES:
        for way, (module, how) in PEERS.items():  # one after the other: the GPU is to be its own
            worker = bench_peers.Worker(python, module, how, device)
            found = bench_peers.measured({way: worker}, name, mode, rounds, number)[way]
            worker.end()
            rows[way].append(f"{found['ms']:9.3f}" if 'ms' in found else found['error'])
    for way, (train, infer) in rows.items():
        print(f'{name:8} {way:14} {train}   {infer}')


def bandwidth(rounds, size=1 << 26):
    """Bytes a second of fused kernels, and of a copy."""
    from chainwright.codegen.cuda_target import CudaTarget
    from chainwright.ir import Graph, build, make, placeholder
    from chainwright.ir.passes import PASSES_ANYWHERE
    cupy = cuda.cupy
    sources = [cupy.full(size, k + 1, 'f') for k in range(4)]
    copy = cupy.empty(size, 'f')
    of_copy = 8 * size / seconds(lambda: cupy.copyto(copy, sources[0]), rounds, 10)
    print(f'\ncopy                 {of_copy / 1e9:8.0f} GB/s')
    target = CudaTarget(cupy)
    for n in (1, 2, 4):
        inputs = [placeholder(f'x{k}', (size,), 'f4') for k in range(n)]
        nodes = [make('exp', inputs[0])]
        for x in inputs:
            nodes.append(make('multiply', nodes[-1], x))
        graph = build(Graph(tuple(inputs), tuple(nodes), (nodes[-1],), 'f'), {}, target.passes,
                      PASSES_ANYWHERE).forward
        loaded = target.program(graph, 'bandwidth').load()
        arrays, memory = sources[:n], (loaded.new_scratch(), loaded.new_kept())
        spent = seconds(lambda run=loaded.function, a=arrays, m=memory: run(*a, *m), rounds, 10)
        rate = 4 * size * (n + 1) / spent
        print(f'kernel of {n} inputs   {rate / 1e9:8.0f} GB/s  {rate / of_copy:5.2f} of a copy')


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('workloads', nargs='*', default=list(bench_native.WORKLOADS))
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--number', type=int, default=10, help='steps in a round')
    parser.add_argument('--size', type=int, default=1 << 26, help='items of the bandwidth arrays')
    parser.add_argument('--check', action='store_true', help='one step each, small arrays')
    parser.add_argument('--peers', metavar='PYTHON', help='an interpreter that has them')
    args = parser.parse_args()
    if args.check:
        args.rounds, args.number, args.size = 1, 1, 1 << 12
    cuda.check_cuda_available()
    chainer.global_config.static_budget = None  # at once: it is the steady state that is measured
    ways = ('eager', 'graphs') if args.check else WAYS
    columns = ' '.join(f'{way:>9}' for way in ways)
    print(f'train:   {columns}   {columns} (infer)   results, graphs, MiB')
    equal = []
    for name in args.workloads:
        try:
            equal.append(compare(name, ways, args.rounds, args.number))
        except Exception:  # the others are to be seen, too
            traceback.print_exc()
            equal.append(False)
    for name in args.workloads if args.peers else ():
        if name in bench_peers.WORKLOADS:
            peers(name, args.peers, args.rounds, args.number)
    bandwidth(args.rounds, args.size)
    if not all(equal):
        raise SystemExit('some workloads failed, or their results differ')


if __name__ == '__main__':
    main()
