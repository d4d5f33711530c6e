"""Mini-batches of sequences that are equally long.

The compiler makes a program for each shape. Texts have many lengths, but a mini-batch of texts of
one length has a shape that comes again.
"""
import random


def by_length(examples, batchsize, length=len):
    """Return a list of mini-batches (lists of examples), in random order.

    An iterator over them takes one at a time, ``SerialIterator(batches, 1)``.

    Args:
        examples: The examples.
        batchsize (int): The largest size; a mini-batch is smaller where examples of its length
            run out.
        length: Function that gives the length of an example.
    """
    groups = {}
    for example in examples:
        groups.setdefault(length(example), []).append(example)
    batches = []
    for group in groups.values():
        random.shuffle(group)
        batches.extend(group[i:i + batchsize] for i in range(0, len(group), batchsize))
    random.shuffle(batches)
    return batches
