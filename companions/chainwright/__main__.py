"""``python -m chainwright COMMAND``."""
import argparse
import sys

from chainwright import cache, doctor, explain, migration


def _parser():
    parser = argparse.ArgumentParser(prog='python -m chainwright', description=__doc__)
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    commands.add_parser(
        'doctor', help='examine the installation: is `import chainer` this package, whole?')
    migrate = commands.add_parser(
        'migrate', help='find the places of a project that NumPy 2 or a newer Chainer want edited; '
        'nothing is changed')
    migrate.add_argument('path', metavar='PATH', help='a file, or a folder with Python files')
    reading = commands.add_parser(
        'explain', help='run a script, and print what its compiled methods did')
    reading.add_argument('--html', metavar='FILE', help='write the whole report as a page, too')
    reading.add_argument(
        '--profile', action='store_true', help='measure the parts of the programs')
    reading.add_argument(
        '--at-once', action='store_true',
        help='compile methods without waiting until that pays, as short scripts need it')
    reading.add_argument('script', metavar='SCRIPT', help='a Python file')
    reading.add_argument(
        'args', metavar='ARGS', nargs=argparse.REMAINDER, help='arguments of the script')
    keeping = commands.add_parser('cache', help='show the compiled code that is kept on disk')
    keeping.add_argument('--clear', action='store_true', help='remove it')
    return parser


def main(args=None):
    """Run a command.

    Args:
        args (list of str): Its name and arguments; by default those of the command line.

    Returns:
        int: Exit status.
    """
    given = _parser().parse_args(args)
    if given.command == 'explain':
        return explain.main(
            given.script, given.args, given.html, given.profile, given.at_once)
    if given.command == 'cache':
        return cache.main(given.clear)
    return doctor.main() if given.command == 'doctor' else migration.main(given.path)


if __name__ == '__main__':
    sys.exit(main())
