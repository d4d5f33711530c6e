"""Decorators that repeat a test.

Each trial is a test of its own, with its own object, ``setUp`` and ``tearDown``.
"""
import functools
import traceback
import types
import unittest

from chainer.testing import _bundle


class _Outcome(unittest.TestResult):
    """What became of one trial: the exception that it ended with, if any."""

    error = None

    def addError(self, test, err):
        super().addError(test, err)
        self.error = err[1]

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.error = err[1]

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.error = err[1]

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.error = unittest.SkipTest(reason)


def _try_once(method, case, args, kwargs):
    name = case._testMethodName
    trial = type(case)(name)
    setattr(trial, name, types.MethodType(
        functools.wraps(method)(lambda self: method(self, *args, **kwargs)), trial))
    outcome = _Outcome()
    trial.run(outcome)
    return outcome.error


def repeat_with_success_at_least(times, min_success):
    """Run a test several times; it passes if enough of the trials do.

    As soon as enough have passed, or cannot pass any more, the rest is left out; an error counts as
    a failure does. The message of the failure tells how many trials failed, and how the first one
    did. A trial that is skipped skips the test.

    Args:
        times (int): Number of trials.
        min_success (int): How many of them must pass.

    Returns:
        Decorator of a method of a ``unittest.TestCase``.
    """
    if times < min_success:
        raise _bundle.MisuseError(
            f'min_success must not be more than times ({times}), but is {min_success}')

    def decorate(method):
        @functools.wraps(method)
        def wrapper(self, *args, **kwargs):
            if not isinstance(self, unittest.TestCase):
                raise _bundle.MisuseError(
                    f'{method.__name__} must be a method of a unittest.TestCase to be repeated')
            passed = 0
            errors = []
            for _ in range(times):
                error = _try_once(method, self, args, kwargs)
                if isinstance(error, unittest.SkipTest):
                    raise error
                if error is None:
                    passed += 1
                else:
                    errors.append(error)
                if passed >= min_success:
                    return
                if len(errors) > times - min_success:
                    break
            raise AssertionError(_message(passed, errors)) from None
        return wrapper
    return decorate


def _message(passed, errors):
    message = f'\nFail: {len(errors)}, Success: {passed}'
    if errors:
        message += '\n\nThe first error message:\n' + ''.join(
            traceback.format_exception(errors[0]))
    return message


def repeat(times):
    """Run a test several times; it passes if all trials do.

    Args:
        times (int): Number of trials.

    Returns:
        Decorator of a method of a ``unittest.TestCase``.
    """
    return repeat_with_success_at_least(times, times)


def retry(times):
    """Run a test up to several times, until it passes.

    Args:
        times (int): Number of trials.

    Returns:
        Decorator of a method of a ``unittest.TestCase``.
    """
    return repeat_with_success_at_least(times, 1)
