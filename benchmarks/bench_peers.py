"""The workloads of bench_native.py under this Chainer, the original, PyTorch and JAX.

    python benchmarks/bench_peers.py [workload ...]      (writes benchmarks/results/peers.md)

PyTorch and JAX are installed into build/peers at the first call; the original is that of
tests/golden/original. One thread; each way runs in a process of its own; in each round they take
turns, so that a busy machine slows all of them. CPU time, the median of the rounds.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ENVIRONMENT = HERE.parent / 'build/peers'
PACKAGES = 'torch==2.13.0', 'jax==0.10.2', 'numpy'
#: Where builds without CUDA are, which pip prefers to others of the same version.
INDEX = 'https://download.pytorch.org/whl/cpu'
WORKLOADS = {  # steps a round
    'small': 200, 'mlp': 5, 'conv': 1, 'lstm': 1, 'tr': 2, 'ew': 1}
# Steps before the first round, after the five of the second table: within this many, compiled calls
# have been checked and freed of their Python.
WARM_UP = 25
MODES = 'train', 'infer'
#: What exact programs are to take of PyTorch's time, training and inference.
REACH = {'small': (.10, .30), 'mlp': (.60, 1.0), 'conv': (.75, .70), 'lstm': (.75, .80),
         'tr': (.75, .80), 'ew': (.20, .25)}
ONE_THREAD = {
    'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1', 'MKL_NUM_THREADS': '1',
    'XLA_FLAGS': '--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1'}


def python_with_peers():
    python = ENVIRONMENT / 'bin/python'
    if not python.exists():
        subprocess.run([sys.executable, '-m', 'venv', ENVIRONMENT], check=True)
        subprocess.run(
            [python, '-m', 'pip', 'install', '--quiet', '--extra-index-url', INDEX, *PACKAGES],
            check=True)
    return str(python)


def ways():
    """By name: command of the worker."""
    original, peers = str(HERE.parent / 'tests/golden/original'), python_with_peers()
    return {
        'define-by-run': [sys.executable, 'chainer_steps', 'define-by-run'],
        'static_graph': [sys.executable, 'chainer_steps', 'static_graph'],
        'Chainer 7.8.1': [original, 'chainer_steps', 'define-by-run'],
        'its static_graph': [original, 'chainer_steps', 'static_graph'],
        'PyTorch': [peers, 'torch_steps', 'eager'],
        'torch.compile': [peers, 'torch_steps', 'compile'],
        'JAX, jit': [peers, 'jax_steps', 'jit'],
    }


class Worker:
    def __init__(self, program, module, way, device='cpu'):
        self.process = subprocess.Popen(
            [program, str(HERE / 'peers/worker.py'), module, way], text=True,
            env={**os.environ, **ONE_THREAD, 'PEERS_DEVICE': device}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + '\n')
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else {'error': 'it ended'}

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def measured(workers, workload, mode, rounds, number=None):
    """By way: milliseconds and seconds of warm-up, or the text of an error."""
    number = number or WORKLOADS[workload]
    found, times = {}, {}
    for way, worker in workers.items():
        found[way] = worker.ask(workload=workload, mode=mode, warm_up=WARM_UP)
    for _ in range(rounds):
        for way, worker in workers.items():
            if 'error' not in found[way]:
                done = worker.ask(number=number)
                times.setdefault(way, []).append(done['seconds'] * 1e3)
    return {way: {**answer, 'ms': statistics.median(times[way])} if way in times else answer
            for way, answer in found.items()}


def cell(way, answer, base):
    if 'ms' not in answer:
        return 'fails'
    return f"{base:.3g} ms" if way == 'PyTorch' else f"{answer['ms'] / base:.2f}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('workloads', nargs='*', default=list(WORKLOADS))
    parser.add_argument('--rounds', type=int, default=5)
    options = parser.parse_args()
    names = ways()
    rows, warm = [], []
    for workload in options.workloads:
        for mode in MODES:
            workers = {way: Worker(*command) for way, command in names.items()}
            found = measured(workers, workload, mode, options.rounds)
            for worker in workers.values():
                worker.end()
            base = found['PyTorch'].get('ms', float('nan'))
            times = [cell(way, found[way], base) for way in names]
            reach = REACH[workload][MODES.index(mode)]
            rows.append(f'| {workload} | {mode} | {" | ".join(times)} | {reach:.2f} |')
            seconds = [f"{found[way].get('warm_up', float('nan')):.1f}" for way in names]
            warm.append(f'| {workload} | {mode} | {" | ".join(seconds)} |')
            for way, answer in found.items():
                if 'error' in answer:
                    sys.stderr.write(f"{workload}, {mode}, {way}: {answer['error']}\n")
            write(names, rows, warm, options.rounds)


def write(names, rows, warm, rounds):
    head = f'| workload | mode | {" | ".join(names)} |\n|{"---|" * (len(names) + 2)}'
    first, line = head.split('\n')
    with_goal = f'{first} static_graph, to reach |\n{line}---|'
    versions = ', '.join(package.replace('==', ' ') for package in PACKAGES[:2])
    (HERE / 'results/peers.md').write_text('\n'.join([
        '# The original, PyTorch and JAX', '',
        f'CPU time of one thread as a part of PyTorch\'s, the median of {rounds} rounds in turns; '
        f'of PyTorch, the milliseconds. Each way has run {WARM_UP + 5} steps before. '
        f'{versions}, Chainer 7.8.1 with NumPy 1.21. '
        'Written by `benchmarks/bench_peers.py`; `benchmarks/bench_native.py` has the workloads.',
        '', with_goal, *rows, '', '## Until the fifth step has run, seconds', '',
        'Wall time of making the model, tracing, compiling and five steps.', '', head, *warm, '']))


if __name__ == '__main__':
    main()
