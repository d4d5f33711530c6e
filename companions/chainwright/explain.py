"""``python -m chainwright explain SCRIPT [ARGS]``: run a script; say what compiled methods did."""
import pathlib
import runpy
import sys
import traceback


def main(script, args, html=None, profile=False, at_once=False):
    """Run a script as Python would, then write the report of all compiled methods.

    Args:
        script (str): Its file.
        args (list of str): Its arguments.
        html (str): File that gets the report as a page, too.
        profile (bool): Whether the parts of the programs are timed.
        at_once (bool): Whether methods are compiled without waiting until that pays.

    Returns:
        int: The exit status of the script; 2 if there is no such file.
    """
    path = pathlib.Path(script)
    if not path.is_file():
        sys.stderr.write(f'there is no script {script}\n')
        return 2
    import chainer
    from chainer.graph_optimizations.static_graph import collecting

    chainer.global_config.static_profile = profile
    if at_once:
        chainer.global_config.static_budget = None
    with collecting() as found:
        status = _run(path, args)
    reports = found()
    out = sys.stdout
    out.write('\n')
    if not reports:
        out.write('No method was compiled: decorate __call__ or forward with '
                  '@chainer.static_graph, and call it more than once.\n')
    else:
        out.write(f'{reports}\n')
        for program in reports.programs:
            for times in program.profiles.values():
                out.write(f'\n{program.label}\n{times}\n')
    if html is not None:
        reports.save(html, title=path.name)
        out.write(f'\nThe whole report: {html}\n')
    return status


def _run(path, args):
    """The exit status of a script; what it raises is shown, as Python shows it."""
    before = sys.argv, sys.path[0]
    sys.argv, sys.path[0] = [str(path), *args], str(path.resolve().parent)
    try:
        runpy.run_path(str(path), run_name='__main__')
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        sys.stderr.write(f'{error.code}\n')
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.argv, sys.path[0] = before
    return 0
