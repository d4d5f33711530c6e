"""Record what the original does in the cases of the modules MODULES.

Run under the original:  tests/golden/original tests/golden/record_names.py [MODULE ...]
"""
import importlib
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

MODULES = ('tabular_cases', 'names_cases')


def record(name):
    cases = importlib.import_module(name)
    recorded = {case.__name__: cases.run(case) for case in cases.CASES}
    with open(os.path.join(HERE, name.replace('_cases', '.json')), 'w') as file:
        json.dump(recorded, file, separators=(',', ':'), sort_keys=True)


if __name__ == '__main__':
    for module in sys.argv[1:] or MODULES:
        record(module)
