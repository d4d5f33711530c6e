"""Times steps of one framework, in a process of its own: commands and answers are lines of JSON.

    python worker.py chainer_steps|torch_steps|jax_steps WAY

CPU time; where ``PEERS_DEVICE`` is ``cuda`` time by the clock, until the device is done.
Runs under Python 3.8, too, for the original.
"""
import importlib
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
sys.path = [path for path in sys.path if path]


def prepare(steps, way, workload, mode):
    """The step, and the seconds until it has run five times: tracing, compiling, first uses."""
    start = time.perf_counter()
    step = steps(workload, mode, way)
    for _ in range(5):
        step()
    return step, time.perf_counter() - start


# What frameworks print is no answer.
ANSWERS = os.fdopen(os.dup(1), 'w')
os.dup2(2, 1)


def answer(done):
    ANSWERS.write(json.dumps(done) + '\n')
    ANSWERS.flush()


def main(name, way):
    step = wait = module = None
    on_host = os.environ.get('PEERS_DEVICE', 'cpu') == 'cpu'
    clock = time.process_time if on_host else time.perf_counter
    for line in sys.stdin:
        command = json.loads(line)
        if 'workload' in command:
            try:
                module = module or importlib.import_module(name)
                wait = getattr(module, 'wait', lambda: None)
                step, seconds = prepare(module.steps, way, command['workload'], command['mode'])
                for _ in range(command['warm_up']):
                    step()
                wait()
                answer({'warm_up': seconds})
            except Exception as e:
                step = None
                answer({'error': repr(e)[:200]})
        else:
            start = clock()
            for _ in range(command['number']):
                step()
            wait()
            answer({'seconds': (clock() - start) / command['number']})


main(*sys.argv[1:])
