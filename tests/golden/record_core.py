"""Record what the original does in the cases of core_cases.py.

Run under the original:  tests/golden/original tests/golden/record_core.py
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import core_cases  # noqa: E402

recorded = {case.__name__: core_cases.run(case) for case in core_cases.CASES}
with open(os.path.join(HERE, 'core.json'), 'w') as file:
    json.dump(recorded, file, indent=1, sort_keys=True)
