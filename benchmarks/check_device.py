"""Everything that has run on the simulated device only, on the GPU of this machine, in one go.

    python benchmarks/check_device.py                 # all steps; a failure stops none of them
    python benchmarks/check_device.py --list
    python benchmarks/check_device.py graphs rows --limit 120
    python benchmarks/check_device.py --all           # with the tests that are marked as slow
    python benchmarks/check_device.py --jobs 6 --workers 3      # side by side; speed comes alone
    PYTHONPATH=tests/simulated python benchmarks/check_device.py arrays        # without a GPU

Needs CuPy, a GPU, pytest and the installed package (without a network: ``pip install --editable .
--no-build-isolation --no-deps``). Each step is a process of its own, which is ended at its limit:
what it has found by then counts. Logs are in ``build/check_device``, and so is ``summary.md``, with
what is to be written into docs/gpu.md. Ends with 1 if a step failed or did not come to its end.
"""
import argparse
import collections
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
LOGS = os.path.join(ROOT, 'build', 'check_device')
_RESULT = re.compile(  # of a test, also as a worker of pytest-xdist tells it
    r'^(?:\[gw\d+\] \[ *\d+%\] (?P<state>[A-Z]+) (?P<name>\S+::.*\S)'
    r'|(?P<name_alone>\S+::.*?) (?P<state_alone>PASSED|FAILED|ERROR|SKIPPED)\b)', re.M)
_ERROR = re.compile(r'^E   .*$', re.M)
_REASON = re.compile(r'^SKIPPED \[(\d+)\] \S+: (.*)$', re.M)

Step = collections.namedtuple('Step', 'name what command alone', defaults=(False,))
Outcome = collections.namedtuple('Outcome', 'step state counts seconds log')


def tests(*names, chosen=None):
    command = [sys.executable, '-m', 'pytest', '-vv', '-rs', '--tb=short', '-p', 'no:cacheprovider',
               *(f'tests/cuda/test_{name}.py' for name in names)]
    return command + ([] if chosen is None else ['-k', chosen])


def script(name, *arguments):
    return [sys.executable, os.path.join(HERE, name), *arguments]


STEPS = [
    Step('machine', 'versions, the GPU, and the libraries that are found', script(
        'check_device.py', '--machine')),
    Step('arrays', 'CuPy arrays in chainer.backends, and what mistakes say', [
        *tests('mistakes'), 'tests/chainer_api/backends/test_cuda.py']),
    Step('graphs', 'CUDA graphs, products in them by cuBLAS', tests('graphs')),
    Step('methods', 'compiled methods: the bits of define-by-run', tests(
        'static_graph', 'programs')),
    Step('rows', 'sums within rows in kernels, within tolerances of NumPy', tests('rows')),
    Step('updates', 'optimizers and hooks, their updates as one launch', tests('optimizers')),
    Step('training', 'converters, updaters, NCCL, timers, files', tests('training')),
    Step('links', 'links: values, gradients, compiled', tests('links')),
    Step('eager', 'array code of define-by-run as kernels of its own', tests('eager')),
    Step('scratch', 'convolutions of whole batches within a limit of memory', tests('scratch')),
    Step('functions', 'functions: values and gradients of NumPy', tests(
        'functions', chosen='not compiled')),
    Step('compiled functions', 'functions in programs: the bits of define-by-run', tests(
        'functions', chosen='compiled')),
    Step('workloads', 'whole steps of training, equal in all ways', script(
        'bench_cuda.py', '--check')),
    Step('examples', 'the examples with -g 0', tests('examples')),
    Step('contraction', 'functions of kernels, with and without contraction (NVRTC)', script(
        'check_cuda.py', '--functions')),
    Step('speed', 'benchmarks/bench_cuda.py, whose table is in the log', script('bench_cuda.py'),
         alone=True),
]


def run(step, args, out):
    """Do a step; what it prints goes to its log."""
    command = list(step.command)
    if 'pytest' in command:
        command += ['-m', '' if args.all else 'not slow']
        command += ['-n', str(args.workers)] if args.workers else []
    path = os.path.join(LOGS, step.name.replace(' ', '_') + '.log')
    started = time.monotonic()
    out(f'{step.name:20} {step.what} ...')
    with open(path, 'w') as log:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = process.wait(args.limit)
        except subprocess.TimeoutExpired:
            code = None
            end(process)
    with open(path) as log:
        counts = collections.Counter(result for _, result in results(log.read()))
    state = 'out of time' if code is None else 'ok' if code == 0 else 'FAILED'
    made = Outcome(step, state, counts, time.monotonic() - started, path)
    out(f'{step.name:20} {state}, {told(made)}{made.seconds:.0f} s')
    return made


def results(text):
    """The tests of a log of pytest, and how each ended."""
    return [(found['name'] or found['name_alone'], found['state'] or found['state_alone'])
            for found in _RESULT.finditer(text)]


def end(process):
    """A step that takes too long, with what it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError):  # there are no such groups on Windows
        process.kill()
    process.wait()


def told(outcome):
    return ''.join(f'{n} {name.lower()}, ' for name, n in sorted(outcome.counts.items()))


def failures(outcome):
    """Lines about a step that failed: each test with its first error, or the end of the log."""
    with open(outcome.log) as file:
        text = file.read()
    failed = [name for name, result in results(text) if result in ('FAILED', 'ERROR')]
    lines = []
    for name in failed:
        title = name.partition('::')[2].partition('::')[0]
        part = re.split(rf'^_+ .*{re.escape(title)} _+$', text, maxsplit=1, flags=re.M)
        error = _ERROR.search(part[1]) if len(part) == 2 else None
        lines.append(f'{name}: {error[0][4:].strip() if error else "see the log"}')
    return lines or text.rstrip().splitlines()[-12:]


def skipped(outcomes):
    """Why tests were left out, and how many."""
    found = collections.Counter()
    for outcome in outcomes:
        with open(outcome.log) as file:
            for n, reason in _REASON.findall(file.read()):
                found[reason] += int(n)
    return [f'{n} left out: {reason}' for reason, n in found.most_common()]


def summary(outcomes):
    """The results as Markdown."""
    lines = ['| step | shows | result | seconds |', '|---|---|---|---|']
    lines += [f'| {o.step.name} | {o.step.what} | {o.state}, {told(o).rstrip(", ") or "-"} | '
              f'{o.seconds:.0f} |' for o in outcomes]
    for outcome in outcomes:
        if outcome.state != 'ok':
            lines += ['', f'## {outcome.step.name}: {outcome.state} ({outcome.log})', '']
            lines += [f'    {line}' for line in failures(outcome)]
    return '\n'.join([*lines, '', *skipped(outcomes), ''])


def machine():
    """Print what else a report has to say."""
    import chainer
    from chainer.backends import cuda
    from chainer.training.updaters import MultiprocessParallelUpdater
    from chainwright.runtime.cuda import blas

    chainer.print_runtime_info()
    cuda.check_cuda_available()
    runtime = cuda.cupy.cuda.runtime
    if 'simulated' in cuda.cupy.__file__:
        print('THE SIMULATED DEVICE: this says nothing about a GPU')
        return
    for k in range(runtime.getDeviceCount()):
        facts = runtime.getDeviceProperties(k)
        print(f'GPU {k}: {facts["name"].decode()}, {facts["major"]}.{facts["minor"]}, '
              f'{facts["totalGlobalMem"] >> 20} MiB, driver {runtime.driverGetVersion()}, '
              f'runtime {runtime.runtimeGetVersion()}')
    cuda.cupy.dot(cuda.cupy.ones((2, 2)), cuda.cupy.ones((2, 2)))  # CuPy loads cuBLAS now
    print('cuBLAS:', blas.library(runtime.runtimeGetVersion() // 1000))
    if MultiprocessParallelUpdater.available():
        from cupy.cuda import nccl
    print('NCCL:', nccl.get_version() if MultiprocessParallelUpdater.available() else 'none')


def main(arguments=None, steps=None, out=print):
    steps = STEPS if steps is None else steps
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('steps', nargs='*', help='names of steps (all)')
    parser.add_argument('--limit', type=float, default=300, help='seconds for each step')
    parser.add_argument('--all', action='store_true', help='also tests that are marked as slow')
    parser.add_argument('--jobs', type=int, default=1, help='steps at a time')
    parser.add_argument('--workers', type=int, default=0, help='of pytest-xdist, for each step')
    parser.add_argument('--list', action='store_true', help='what the steps are')
    parser.add_argument('--machine', action='store_true', help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.machine:
        return machine()
    if args.list:
        return out('\n'.join(f'{step.name:20} {step.what}' for step in steps))
    unknown = set(args.steps) - {step.name for step in steps}
    if unknown:
        parser.error(f'there is no step {", ".join(sorted(unknown))}; see --list')
    os.makedirs(LOGS, exist_ok=True)
    chosen = [step for step in steps if not args.steps or step.name in args.steps]
    outcomes = []
    for alone in (False, True):
        with ThreadPoolExecutor(1 if alone else args.jobs) as pool:
            for outcome in pool.map(lambda step: run(step, args, out),
                                    [step for step in chosen if step.alone is alone]):
                outcomes.append(outcome)
                text = summary(outcomes)  # also of what an interrupted run has found
                with open(os.path.join(LOGS, 'summary.md'), 'w') as file:
                    file.write(text)
    out('\n' + text)
    if any(outcome.state != 'ok' for outcome in outcomes):
        raise SystemExit(1)


if __name__ == '__main__':
    main()
