"""A data set for processes that get their input from others."""


def create_empty_dataset(dataset):
    """Make a data set of as many examples as another, all of them empty tuples.

    For processes whose part of a model starts with :func:`chainermn.functions.recv`: updaters want
    a data set, and the epochs should be as long everywhere.

    Args:
        dataset: A data set.

    Returns:
        list: Its examples are ``()``, with which a model is called without arguments.

    >>> import chainermn
    >>> chainermn.datasets.create_empty_dataset(['a', 'b'])
    [(), ()]
    """
    return [()] * len(dataset)
