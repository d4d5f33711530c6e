"""Random programs, decorated and not, by the thousand.

    make fuzz N=20000                                   (seeds 0 to 19999, on all cores)
    .venv/bin/python benchmarks/fuzz.py --count 500 --start 7000
    .venv/bin/python benchmarks/fuzz.py --count 90000 --seconds 600      (as many as that gives)
    .venv/bin/python benchmarks/fuzz.py --seed 123      (one program: shown, checked, shrunk)
    .venv/bin/python benchmarks/fuzz.py --python        (methods of plain Python, instead)

What a seed gives is always the same program. Disagreements are printed as scripts, shrunk; the
figures come last. A program that takes longer than a minute counts as hanging, a worker that dies
as a crash, and its place is taken by a new one.
"""

import argparse
import collections
import importlib
import json
import math
import os
import pathlib
import queue
import subprocess
import sys
import threading
import time

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"
HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE.parent / "tests/chainer_api/graph_optimizations"
sys.path[:0] = [str(HERE), str(PROGRAMS)]
PATIENCE = 60
#: The module that makes the programs, for worker processes, too.
KIND = "CHAINWRIGHT_FUZZ"


def programs():
    """The module that makes the programs."""
    return importlib.import_module(os.environ.get(KIND, "random_programs"))


def worker(start, stop, step, until):
    """Check every ``step``-th seed ``until`` that time; a line of JSON for each."""
    import gc
    import logging

    from ways import all_chains, ways

    logging.getLogger("chainwright").propagate = False
    for seed in range(start, stop, step):
        if time.time() > until:
            print(json.dumps({"over": True}), flush=True)
            return
        print(json.dumps({"begun": seed}), flush=True)
        gc.collect()
        gc.freeze()  # programs collect garbage: only theirs is to be looked at
        recipe, counts = programs().program(seed), collections.Counter()

        def count(model, counts=counts):
            for chain in all_chains(model):
                counts.update(ways(chain).calls)

        try:
            told = recipe.differs(count)
        except Exception as e:
            told = f"{type(e).__name__} outside of a step: {e}"
        print(json.dumps({"seed": seed, "told": told, "ways": counts}), flush=True)


class Lane:
    """The programs of one core: a worker process, and another one when it dies or hangs."""

    def __init__(self, start, stop, step, until, found):
        self.next, self.stop, self.step, self.found = start, stop, step, found
        self.until = until
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while self.next < self.stop:
            self._process()
        self.found.put(None)

    def _process(self):
        command = [sys.executable, __file__, "--worker", str(self.next), str(self.stop)]
        process = subprocess.Popen(
            [*command, str(self.step), str(self.until)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        lines = queue.Queue()
        reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
        reader.start()
        begun = self.next
        while True:
            try:
                line = lines.get(timeout=PATIENCE)
            except queue.Empty:
                process.kill()
                self._lost(begun, "hangs")
                return
            if line is None:
                code = process.wait()
                if self.next < self.stop:
                    self._lost(begun, f"crashes with status {code}")
                return
            message = json.loads(line)
            begun = message.get("begun", begun)
            if "over" in message:
                self.next = self.stop
            if "seed" in message:
                self.next = message["seed"] + self.step
                self.found.put(message)

    def _lost(self, seed, how):
        self.found.put({"seed": seed, "told": how, "ways": {}, "lost": how.split()[0]})
        self.next = seed + self.step


def _read(stream, lines):
    for line in stream:
        lines.put(line)
    lines.put(None)


def shrunk(seed, seconds=60):
    """The script of a failing program, made small in a process of its own."""
    command = [sys.executable, __file__, "--shrink", str(seed)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        return done.stdout or done.stderr[-2000:]
    except subprocess.TimeoutExpired:
        return programs().program(seed).source()


def show(seed, everything):
    """Check one program, and print the smallest one that fails."""
    import logging

    logging.getLogger("chainwright").propagate = False
    recipe = programs().program(seed)
    told = recipe.differs()
    if everything:
        print(recipe.source())
    print(f"# {told}" if told else "# both give the same")
    if told:
        small = recipe.shrink()
        print(f"\n# The smallest that was found: {small.differs()}\n{small.source()}")


def main(start, count, cores, shown, seconds):
    begun, found = time.time(), queue.Queue()
    lanes = [Lane(start + k, start + count, cores, begun + seconds, found) for k in range(cores)]
    figures, calls, failing = collections.Counter(), collections.Counter(), []
    while lanes:
        message = found.get()
        if message is None:
            lanes.pop()
            continue
        figures["programs"] += 1
        calls.update(message["ways"])
        if message["told"]:
            figures[message.get("lost", "disagree")] += 1
            failing.append(message["seed"])
            print(f"seed {message['seed']}: {message['told'][:300]}", flush=True)
        if figures["programs"] % 500 == 0:
            print(f"... {figures['programs']} programs, {time.time() - begun:.0f} s", flush=True)
    for seed in failing[:shown]:
        print(f"\n# ---- seed {seed} ----\n{shrunk(seed)}", flush=True)
    total = sum(calls.values()) or 1
    print(
        f"\n{figures['programs']} programs (of seeds {start} to {start + count - 1}), "
        f"{time.time() - begun:.0f} s: {figures['disagree']} disagree, "
        f"{figures['hangs']} hang, {figures['crashes']} crash"
    )
    for way, n in sorted(calls.items()):
        print(f"  calls {way:15} {n:9,} {n / total:7.1%}")
    return 1 if failing else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--shown", type=int, default=5, help="failing programs that are shrunk")
    parser.add_argument("--python", action="store_true", help="methods of plain Python")
    parser.add_argument("--seed", type=int, help="one program only")
    parser.add_argument("--shrink", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=math.inf, help="none is begun after")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.python:
        os.environ[KIND] = "random_python"
    if given.worker:
        *seeds, until = given.worker
        worker(*map(int, seeds), float(until))
    elif given.shrink is not None:
        show(given.shrink, False)
    elif given.seed is not None:
        show(given.seed, True)
    else:
        sys.exit(main(given.start, given.count, given.cores, given.shown, given.seconds))
