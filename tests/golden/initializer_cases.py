"""Cases of the initializer tests, used by record_initializers.py (Chainer) and the tests (ours)."""
import json

import numpy as np

# Class, arguments, shapes
CASES = [
    ('Normal', {}, [(2, 3), (4,), ()]), ('Normal', {'scale': 2.0}, [(2, 3)]),
    ('LeCunNormal', {}, [(2, 3), (4, 3, 2, 2)]), ('LeCunNormal', {'scale': 0.7}, [(5, 2, 3)]),
    ('GlorotNormal', {}, [(2, 3), (4, 3, 2, 2)]), ('GlorotNormal', {'scale': 0.7}, [(5, 2, 3)]),
    ('HeNormal', {}, [(2, 3), (4, 3, 2, 2)]),
    ('HeNormal', {'scale': 0.7, 'fan_option': 'fan_out'}, [(5, 2, 3)]),
    ('Uniform', {}, [(2, 3), (4,), ()]), ('Uniform', {'scale': 2.0}, [(2, 3)]),
    ('LeCunUniform', {}, [(2, 3), (4, 3, 2, 2)]), ('LeCunUniform', {'scale': 0.7}, [(5, 2, 3)]),
    ('GlorotUniform', {}, [(2, 3), (4, 3, 2, 2)]), ('GlorotUniform', {'scale': 0.7}, [(5, 2, 3)]),
    ('HeUniform', {}, [(2, 3), (4, 3, 2, 2)]), ('HeUniform', {'scale': 0.7}, [(5, 2, 3)]),
    ('Orthogonal', {}, [(2, 3), (3, 2), (3, 3), (4, 2, 3), (3,), (1,), ()]),
    ('Orthogonal', {'scale': 0.7, 'mode': 'projection'}, [(2, 3)]),
    ('Orthogonal', {'scale': 0.7, 'mode': 'embedding'}, [(3, 2)]),
    ('Orthogonal', {'scale': 0.7, 'mode': 'basis'}, [(3, 3)]),
    ('Identity', {'scale': 3}, [(3, 3)]), ('Constant', {'fill_value': 2.5}, [(2, 3), ()]),
    ('Zero', {}, [(2, 3)]), ('One', {}, [(2, 3)]), ('NaN', {}, [(2, 3)]),
    ('UpsamplingDeconvFilter', {}, [(2, 2, 4), (2, 2, 3, 3), (1, 1, 5, 5), (1, 1, 2, 2, 2)]),
    ('DownsamplingConvFilter', {}, [(2, 2, 4), (2, 2, 3, 3), (1, 1, 5, 5), (1, 1, 2, 2, 2)]),
]


def all_cases():
    for name, args, shapes in CASES:
        for shape in shapes:
            for dtype in 'efd':
                yield name, args, shape, dtype


def key(name, args, shape, dtype):
    return f'{name}{json.dumps(args, sort_keys=True)} {list(shape)} {dtype}'


def run(chainer, name, args, shape, dtype):
    """Returns the initialized array, and the next number of the generator."""
    array = np.empty(shape, dtype)
    np.random.seed(17)
    getattr(chainer.initializers, name)(**args)(array)
    return array, np.random.random_sample()
