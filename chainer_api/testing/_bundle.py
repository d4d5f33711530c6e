"""Decorators that make several test case classes of one."""
import sys


class TestCaseBundle:
    """What the name of a decorated class stands for: the test cases made of it.

    The cases themselves are put into the module of the class under names of their own, where
    test runners find them. Decorators of :mod:`chainer.testing` take a bundle as they take a class.
    """

    __test__ = False  # pytest: no test case by itself

    def __init__(self, name, cases):
        self.name = name
        self.cases = cases

    def __repr__(self):
        return f'<{self.name}: {len(self.cases)} test cases>'

    def __mro_entries__(self, bases):
        raise TypeError(
            f'{self.name} is parameterized, and so no class to derive from: derive from a plain '
            'class with its methods, and decorate both')


def cases_of(target):
    """Return the classes of a class or bundle."""
    return target.cases if isinstance(target, TestCaseBundle) else [target]


def derived_case(base, suffix, members):
    """Return a subclass of ``base`` with some more members."""
    members = {'__module__': base.__module__, '__doc__': base.__doc__, **members}
    return type(base.__name__ + suffix, (base,), members)


def make_decorator(derive):
    """Return a decorator that replaces each class by several.

    Args:
        derive (callable): ``derive(cls)`` returns the list of the subclasses that replace it.
    """
    def decorate(target):
        cases = []
        for base in cases_of(target):
            module = sys.modules[base.__module__]
            if isinstance(target, TestCaseBundle):
                vars(module).pop(base.__name__, None)
            for case in derive(base):
                name = case.__name__
                number = 1
                while name in [c.__name__ for c in cases]:
                    number += 1
                    name = f'{case.__name__}_{number}'
                case.__name__ = case.__qualname__ = name
                setattr(module, name, case)
                cases.append(case)
        name = target.name if isinstance(target, TestCaseBundle) else target.__name__
        return TestCaseBundle(name, cases)
    return decorate
