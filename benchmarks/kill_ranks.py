"""Kill processes of a training at random moments; every job must end, every restart go on.

    python benchmarks/kill_ranks.py --times 30 --processes 2

A training of tests/companions/chainermn/scripts/train.py is started, one of its processes is killed
with SIGKILL after a random time (also while it starts, or saves), and it is started again, until it
was killed so often. The last start is left alone. What each job prints is checked: it begins at the
last iteration that all processes had saved when the one before ended.
"""
import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
TRAIN = ROOT / 'tests/companions/chainermn/scripts/train.py'


def mpiexec():
    beside = pathlib.Path(sys.executable).with_name('mpiexec')
    return str(beside) if beside.exists() else shutil.which('mpiexec')


def start(args, folder, name):
    return subprocess.Popen(
        [mpiexec(), '-n', str(args.processes), sys.executable, str(TRAIN), str(folder), args.how,
         str(args.iterations)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
        env={**os.environ, 'MN_KILL_JOB': name, 'OMP_NUM_THREADS': '1'})


def processes_of(name):
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                is_training = b'train.py' in file.read() and b'python' in _first_word(pid)
            with open(f'/proc/{pid}/environ', 'rb') as file:
                is_mine = f'MN_KILL_JOB={name}'.encode() in file.read().split(b'\0')
        except OSError:  # it has ended meanwhile
            continue
        if is_training and is_mine:
            found.append(int(pid))
    return found


def _first_word(pid):
    with open(f'/proc/{pid}/cmdline', 'rb') as file:
        return os.path.basename(file.read().split(b'\0')[0])


def saved(folder, args):
    """The newest iteration that all processes have saved."""
    if not folder.exists():
        return 0
    if args.how == 'snapshot':
        found = [re.fullmatch(r'snapshot_iter_(\d+)\.0', n) for n in os.listdir(folder)]
        return max([int(m[1]) for m in found if m], default=0)
    sets = []
    for rank in range(args.processes):
        found = [re.fullmatch(rf'run\.{rank}\.(\d+)', n) for n in os.listdir(folder)]
        sets.append({int(m[1]) for m in found if m})
    return max(set.intersection(*sets), default=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--times', type=int, default=30)
    parser.add_argument('--processes', '-n', type=int, default=2)
    parser.add_argument('--how', choices=['checkpointer', 'snapshot'], default='checkpointer')
    parser.add_argument('--iterations', type=int, default=5000)
    parser.add_argument('--longest', type=float, default=4, help='seconds before a kill')
    parser.add_argument('--seed', type=int, default=0)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    folder = pathlib.Path(tempfile.mkdtemp()) / 'out'
    last, seconds, moments = 0, [], []
    for kill in range(args.times):
        name = f'{folder}-{kill}'
        job = start(args, folder, name)
        wait = rng.uniform(0.3, args.longest)
        time.sleep(wait)
        pids = processes_of(name)
        if not pids:
            sys.exit(f'kill {kill}: the job has ended by itself:\n{job.communicate()[0]}')
        os.kill(rng.choice(pids), signal.SIGKILL)
        begin = time.perf_counter()
        try:
            out, _ = job.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            sys.exit(f'kill {kill}: the job did not end in 60 s')
        seconds.append(time.perf_counter() - begin)
        starts = set(re.findall(r'starts at (\d+)', out))
        if job.returncode == 0 or not starts <= {str(last)}:
            sys.exit(f'kill {kill}: started at {starts} instead of {last}:\n{out}')
        moments.append('while starting' if not starts else 'while training')
        last = saved(folder, args)
        print(f'kill {kill + 1}: after {wait:.1f} s {moments[-1]}, ended in {seconds[-1]:.2f} s, '
              f'{last} iterations saved', flush=True)
    args.iterations = last + 5
    out, _ = start(args, folder, f'{folder}-last').communicate(timeout=120)
    assert f'starts at {last}' in out and f'ends at {last + 5}' in out, out
    shutil.rmtree(folder.parent)
    print(f'{args.times} kills ({moments.count("while starting")} while starting), all jobs ended '
          f'(longest {max(seconds):.1f} s), all starts went on; the last one ended by itself')


if __name__ == '__main__':
    main()
