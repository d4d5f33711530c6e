"""Decorators that make several test case classes of one."""
import sys


class MisuseError(AssertionError, TypeError, ValueError):
    """A helper for tests was given what it cannot use; the original asserts that in some places."""


class TestCaseBundle:
    """What the name of a parameterized class stands for: the test cases made of it.

    The cases themselves are put into the module of the class under names of their own, where
    test runners find them. Decorators of :mod:`chainer.testing` take a bundle as they take a class.
    A class that derives from a bundle derives from the class as it was before: it has no
    parameters, unless it is parameterized itself.
    """

    __test__ = False  # pytest: no test case by itself

    def __init__(self, original, cases):
        self.original = original
        self.cases = cases

    def __repr__(self):
        return f'<{self.original.__name__}: {len(self.cases)} test cases>'

    def __mro_entries__(self, bases):
        return self.original,


def cases_of(target):
    """Return the classes of a class or bundle.

    A class is one of several, itself the first, if a decorator left some of its tests to it.
    """
    if isinstance(target, TestCaseBundle):
        return target.cases
    return vars(target).get('_cases', [target])


def derived_case(base, suffix, members):
    """Return a subclass of ``base`` with some more members."""
    members = {
        '__module__': base.__module__, '__doc__': base.__doc__, '_is_derived_case': True, **members}
    return type(base.__name__ + suffix, (base,), members)


def is_derived_case(cls):
    """Return whether a class was made by a decorator (one that derives from such a class was not).
    """
    return vars(cls).get('_is_derived_case', False)


def make_decorator(derive):
    """Return a decorator that replaces each class by several.

    Args:
        derive (callable): ``derive(cls)`` returns the list of the classes that replace it:
            subclasses, or itself as the first one.
    """
    def decorate(target):
        cases = []
        bases = cases_of(target)
        module = sys.modules[bases[0].__module__] if bases else None
        for base in bases:
            vars(module).pop(base.__name__, None)
        for base in bases:
            for case in derive(base):
                name = case.__name__
                number = 1
                while name in [c.__name__ for c in cases]:
                    number += 1
                    name = f'{case.__name__}_{number}'
                case.__name__ = case.__qualname__ = name
                setattr(module, name, case)
                cases.append(case)
        original = target.original if isinstance(target, TestCaseBundle) else target
        if original in cases:
            original._cases = cases
            return original
        return TestCaseBundle(original, cases)
    return decorate
