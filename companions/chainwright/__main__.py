"""``python -m chainwright COMMAND``."""
import argparse
import sys

from chainwright import doctor, migration


def _parser():
    parser = argparse.ArgumentParser(prog='python -m chainwright', description=__doc__)
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    commands.add_parser(
        'doctor', help='examine the installation: is `import chainer` this package, whole?')
    migrate = commands.add_parser(
        'migrate', help='find the places of a project that NumPy 2 or a newer Chainer want edited; '
        'nothing is changed')
    migrate.add_argument('path', metavar='PATH', help='a file, or a folder with Python files')
    return parser


def main(args=None):
    """Run a command.

    Args:
        args (list of str): Its name and arguments; by default those of the command line.

    Returns:
        int: Exit status.
    """
    given = _parser().parse_args(args)
    return doctor.main() if given.command == 'doctor' else migration.main(given.path)


if __name__ == '__main__':
    sys.exit(main())
