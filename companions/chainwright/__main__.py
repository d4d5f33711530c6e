"""``python -m chainwright COMMAND``."""
import argparse
import sys

from chainwright import doctor


def _parser():
    parser = argparse.ArgumentParser(prog='python -m chainwright', description=__doc__)
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    commands.add_parser(
        'doctor', help='examine the installation: is `import chainer` this package, whole?')
    return parser


def main(args=None):
    """Run a command.

    Args:
        args (list of str): Its name and arguments; by default those of the command line.

    Returns:
        int: Exit status.
    """
    _parser().parse_args(args)
    return doctor.main()


if __name__ == '__main__':
    sys.exit(main())
