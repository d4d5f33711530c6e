"""Runs under the original Chainer: times its define-by-run and its static_graph, as JSON."""

import json
import os
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
warnings.simplefilter('ignore')

import workloads  # noqa: E402

times = {}
for (name, mode), run in workloads.runs().items():
    try:
        for _ in range(5):
            run()
        times[name + ' ' + mode] = workloads.seconds(run, 3, 200)
    except Exception as e:  # the original's static_graph fails on some programs
        times[name + ' ' + mode] = repr(e)
print(json.dumps(times))
