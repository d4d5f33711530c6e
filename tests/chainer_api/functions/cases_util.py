"""Utility functions."""
from function_case import case, error, normal


def _two(x, y):
    return x * y, x + y


CASES = [
    case('forget', lambda F, x: F.forget(lambda x: F.exp(x) * x, x), normal(2, 3), normal(),
         twice=False, why='it is differentiable only once'),
    case('forget_two', lambda F, x, y: F.forget(_two, x, y), (normal(2, 3), normal(2, 3)),
         twice=False, why='it is differentiable only once'),
    case('forget_first', lambda F, x, y: F.forget(_two, x, y)[0], (normal(2, 3), normal(2, 3)),
         twice=False, why='it is differentiable only once'),
]

ERRORS = [
    error('forget_callable', lambda F, x: F.forget(1, x), normal(2), 'TypeError', 'callable'),
    error('forget_result', lambda F, x: F.forget(lambda x: 1, x), normal(2), 'RuntimeError',
          'Variable'),
    error('forget_element', lambda F, x: F.forget(lambda x: (x, 1), x), normal(2), 'RuntimeError',
          '2nd element'),
]
