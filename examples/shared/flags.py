"""The flags that the examples have in common.

An example makes a parser with its own defaults, adds what is special to it, and parses:

    parser = flags.make_parser(__doc__, batchsize=100, epoch=20, unit=1000, test={'epoch': 2})
    args = flags.parse(parser, argv)
"""
import argparse
import random

import numpy as np

import chainer


def make_parser(doc, batchsize, epoch=None, unit=None, out='result', test=None, static=True,
                two_devices=False):
    """Return a parser of the usual flags.

    Args:
        doc: Description of the example; its first line is shown.
        batchsize, epoch, unit, out: Defaults; what has none has no flag.
        test (dict): Other defaults, by name, that hold with ``--test``.
        static (bool): Whether there is something that ``--static`` can compile.
        two_devices (bool): Whether there is a second device, ``--device1``.
    """
    parser = argparse.ArgumentParser(
        description=doc.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add('--batchsize', '-b', type=int, default=batchsize, help='examples in a mini-batch')
    if epoch is not None:
        add('--epoch', '-e', type=int, default=epoch, help='how often to go through the data')
    if unit is not None:
        add('--unit', '-u', type=int, default=unit, help='units of each hidden layer')
    add_device(parser)
    if two_devices:
        _add_device(parser, ['--device1'], ['--gpu1'], '1')
    add('--out', '-o', default=out, help='folder of the results')
    add('--resume', '-r', help='go on from this snapshot')
    add('--test', action='store_true', help='a few seconds with small data that come along')
    add('--seed', type=int, default=0, help='of the random numbers')
    if static:
        add('--static', action='store_true', help='compile the network')
    parser.set_defaults(in_test=test or {})
    return parser


def _add_device(parser, names, names_of_gpu, gpu):
    parser.add_argument(*names, default='@numpy', help='@numpy or -1: the CPU; @cupy:N or N: a GPU')
    parser.add_argument(
        *names_of_gpu, dest=names[0].lstrip('-'), nargs='?', const=gpu, default=argparse.SUPPRESS,
        help=f'the same as {names[0]}; {gpu} where no number follows')


def add_device(parser):
    """Add ``--device`` and ``--gpu`` to a parser of few flags."""
    _add_device(parser, ['--device', '-d'], ['--gpu', '-g'], '0')


def use_device(parser, args):
    """Put the device object into the place of what the flag says, and use it."""
    try:
        args.device = chainer.get_device(args.device)
        if 'device1' in args:
            args.device1 = chainer.get_device(args.device1)
        args.device.use()
    except (RuntimeError, ValueError) as error:
        parser.error(str(error))


def parse(parser, argv=None):
    """Return the values of the flags; devices are device objects, the first one in use.

    The random numbers are seeded, so that a run can be repeated.
    """
    if parser.parse_args(argv).test:
        parser.set_defaults(**parser.get_default('in_test'))
    args = parser.parse_args(argv)
    use_device(parser, args)
    random.seed(args.seed)
    np.random.seed(args.seed)
    return args
