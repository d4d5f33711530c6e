"""Times steps of one framework, in a process of its own: commands and answers are lines of JSON.

    python worker.py chainer_steps|torch_steps|jax_steps WAY

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


def main(module, way):
    steps = importlib.import_module(module).steps
    step = None
    for line in sys.stdin:
        command = json.loads(line)
        if 'workload' in command:
            try:
                step, seconds = prepare(steps, way, command['workload'], command['mode'])
                for _ in range(command['warm_up']):
                    step()
                answer({'warm_up': seconds})
            except Exception as e:
                step = None
                answer({'error': repr(e)[:200]})
        else:
            start = time.process_time()
            for _ in range(command['number']):
                step()
            answer({'seconds': (time.process_time() - start) / command['number']})


main(*sys.argv[1:])
