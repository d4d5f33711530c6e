"""Record iterations, trainings and their files with Chainer.

    tests/golden/original tests/golden/record_training.py
    ORIGINAL_VERSION=5.4.0 tests/golden/original tests/golden/record_training.py progress

The bar is recorded from 5.4: that of 7.8.1 forgets its stream and its length.
"""
import io
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import training_cases as cases  # noqa: E402


def main():
    if sys.argv[1:] == ['progress']:
        name, recorded = 'training_progress', cases.progress_text(io.StringIO())
    else:
        name = 'training'
        recorded = {case.__name__: cases.run(case) for case in cases.CASES}
    with open(os.path.join(HERE, name + '.json'), 'w') as file:
        json.dump(recorded, file, separators=(',', ':'), sort_keys=True)


main()
