"""``python -m chainwright migrate PATH``: the places of a project that want an edit, and why.

Files are read, parsed and left as they are. Only names that are looked up on NumPy and Chainer (as
the file imports them) count, so that a variable ``np`` of another origin is no finding.
"""
import ast
import pathlib
import sys
from typing import NamedTuple

# Names that NumPy 2 does not have any more (or that mean something else now), and what to write.
NUMPY_NAMES = {
    'int': 'int, or np.int64 for a fixed size', 'float': 'float, or np.float64',
    'object': 'object', 'str': 'str, or np.str_',
    'complex': 'complex, or np.complex128', 'unicode': 'np.str_',
    'float_': 'np.float64', 'complex_': 'np.complex128', 'unicode_': 'np.str_',
    'string_': 'np.bytes_', 'int0': 'np.intp', 'uint0': 'np.uintp', 'singlecomplex': 'np.complex64',
    'longfloat': 'np.longdouble', 'longcomplex': 'np.clongdouble', 'cfloat': 'np.complex128',
    'Inf': 'np.inf', 'Infinity': 'np.inf', 'infty': 'np.inf', 'PINF': 'np.inf',
    'NINF': '-np.inf', 'NaN': 'np.nan', 'NAN': 'np.nan', 'PZERO': '0.0', 'NZERO': '-0.0',
    'product': 'np.prod', 'cumproduct': 'np.cumprod', 'sometrue': 'np.any', 'alltrue': 'np.all',
    'asscalar': 'x.item()', 'trapz': 'np.trapezoid', 'in1d': 'np.isin', 'row_stack': 'np.vstack',
    'msort': 'np.sort(x, axis=0)', 'round_': 'np.round', 'find_common_type': 'np.result_type',
    'cast': 'np.asarray(x, dtype)', 'source': 'inspect.getsource', 'lookfor': 'the documentation',
    'mat': 'np.asmatrix', 'asfarray': 'np.asarray(x, np.float64)', 'issubclass_': 'issubclass',
    'issctype': 'issubclass(x, np.generic)', 'maximum_sctype': 'an explicit dtype',
    'obj2sctype': 'np.dtype(x).type', 'sctype2char': 'np.dtype(x).char',
    'set_string_function': 'np.set_printoptions', 'tracemalloc_domain': 'np.lib',
    'byte_bounds': 'np.lib.array_utils.byte_bounds', 'compat': 'nothing', 'safe_eval':
    'ast.literal_eval', 'recfromcsv': 'np.genfromtxt', 'recfromtxt': 'np.genfromtxt',
}
# Chainer: what went, by the full name that a file uses.
CHAINER_NAMES = {
    'chainer.Flag': 'it is gone; use chainer.no_backprop_mode()',
    'chainer.ON': 'it is gone with volatile; use chainer.no_backprop_mode()',
    'chainer.OFF': 'it is gone with volatile; nothing is needed',
    'chainer.AUTO': 'it is gone with volatile; nothing is needed',
    'chainer.FunctionSet': 'write a chainer.Chain, with init_scope',
    'chainer.functions.caffe': 'use chainer.links.caffe',
    'chainer.functions.Parameter': 'use chainer.Parameter in a link',
}
# Arguments that Chainer 2 took away, by the last part of the function's name.
MODE = "settings of the thread decide since Chainer 2: with chainer.using_config('train', False):"
ARGUMENTS = {
    ('dropout', 'train'): MODE, ('zoneout', 'train'): MODE, ('gaussian', 'train'): MODE,
    ('n_step_lstm', 'train'): MODE, ('n_step_gru', 'train'): MODE, ('n_step_rnn', 'train'): MODE,
    ('n_step_bilstm', 'train'): MODE, ('n_step_bigru', 'train'): MODE,
    ('batch_normalization', 'use_cudnn'): 'leave it out; chainer.config.use_cudnn decides',
    ('Variable', 'volatile'): 'with chainer.no_backprop_mode(): instead',
    ('Linear', 'wscale'): 'give initialW=chainer.initializers.LeCunNormal(scale=...)',
    ('Convolution2D', 'wscale'): 'give initialW=chainer.initializers.LeCunNormal(scale=...)',
    ('Linear', 'bias'): 'it is initial_bias', ('Convolution2D', 'bias'): 'it is initial_bias',
    ('Deconvolution2D', 'bias'): 'it is initial_bias',
    ('Optimizer', 'deterministic'): 'chainer.config.cudnn_deterministic decides',
    ('extend', 'invoke_before_training'): 'it is call_before_training, or initializer= of the '
    'extension',
}
METHODS = {
    'zero_grads': 'it is cleargrads()',
    'accumulate_grads': 'it is gone', 'weight_decay': 'add the hook optimizer_hooks.WeightDecay',
    'clip_grads': 'add the hook optimizer_hooks.GradientClipping',
    'compute_grads_norm': 'it is gone; use the hook optimizer_hooks.GradientClipping',
}


class Finding(NamedTuple):
    """A place that wants an edit."""

    path: str
    line: int
    what: str
    advice: str

    def __str__(self):
        return f'{self.path}:{self.line}: {self.what}: {self.advice}'


class _Finder(ast.NodeVisitor):
    """Collects what one file has; ``names`` maps its names to what they were imported as."""

    def __init__(self, path):
        self.path = path
        self.names = {}
        self.found = []
        self.chainer = False

    def add(self, node, what, advice):
        self.found.append(Finding(self.path, node.lineno, what, advice))

    def visit_Import(self, node):
        for alias in node.names:
            full = alias.name if alias.asname else alias.name.partition('.')[0]
            self.names[alias.asname or full] = full
            self.chainer |= alias.name.partition('.')[0] == 'chainer'
            self._check(node, alias.name)

    def visit_ImportFrom(self, node):
        if node.level:
            return
        for alias in node.names:
            full = f'{node.module}.{alias.name}'
            self.names[alias.asname or alias.name] = full
            self.chainer |= full.partition('.')[0] == 'chainer'
            self._check(node, full)

    def visit_Attribute(self, node):
        full = self._full_name(node)
        if full is not None:
            self._check(node, full)
        self.generic_visit(node)

    def visit_Call(self, node):
        full = self._full_name(node.func)
        last = full.rpartition('.')[2] if full else getattr(node.func, 'attr', '')
        for keyword in node.keywords:
            self._check_argument(node, full, last, keyword)
        if full is None and self.chainer and isinstance(node.func, ast.Attribute) and (
                last in METHODS):
            self.add(node, f'.{last}()', METHODS[last])
        if full == 'numpy.array' and any(
                k.arg == 'copy' and getattr(k.value, 'value', True) is False
                for k in node.keywords):
            self.add(node, 'numpy.array(copy=False)',
                     'raises where a copy is needed since NumPy 2; use numpy.asarray')
        self.generic_visit(node)

    def _check_argument(self, node, full, last, keyword):
        if not (full or '').startswith('chainer.') and last != 'extend':
            if self.chainer and keyword.arg in ('volatile',):
                self.add(node, f'{last}({keyword.arg}=)', ARGUMENTS['Variable', 'volatile'])
            elif self.chainer and keyword.arg == 'test' and full is None:
                self.add(node, f'{last}(test=)', MODE)
            return
        advice = ARGUMENTS.get((last, keyword.arg))
        of_the_library = (full or '').startswith(('chainer.functions.', 'chainer.links.'))
        if advice is None and of_the_library and keyword.arg == 'use_cudnn':
            advice = ARGUMENTS['batch_normalization', 'use_cudnn']
        if advice is not None:
            self.add(node, f'{last}({keyword.arg}=)', advice)

    def _check(self, node, full):
        top, _, rest = full.partition('.')
        if top == 'numpy' and rest in NUMPY_NAMES:
            self.add(node, full, f'gone from NumPy 2; write {NUMPY_NAMES[rest]}')
        elif full in CHAINER_NAMES:
            self.add(node, full, CHAINER_NAMES[full])
        elif top == 'cupy' and rest in NUMPY_NAMES:
            self.add(node, full, f'gone from CuPy as well; write {NUMPY_NAMES[rest]}')

    def _full_name(self, node):
        """The name that ``a.b.c`` has where it was imported from, or ``None``."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.names:
            return None
        return '.'.join([self.names[node.id], *reversed(parts)])


def findings_of(source, path='<string>'):
    """Find the places of a file that want an edit.

    Args:
        source (str): Its text.
        path (str): Its name, for the findings.

    Returns:
        list of Finding: In the order of the lines. A file that is no Python 3 is one finding.

    .. doctest::

        >>> from chainwright import migration
        >>> for finding in migration.findings_of('import numpy as np\\nx = np.zeros(3, np.int)'):
        ...     print(finding)
        <string>:2: numpy.int: gone from NumPy 2; write int, or np.int64 for a fixed size
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        advice = f'no Python 3 ({error}); run 2to3 of an older Python on it, or edit it by hand'
        return [Finding(path, getattr(error, 'lineno', None) or 1, 'syntax', advice)]
    finder = _Finder(path)
    finder.visit(tree)
    return sorted(set(finder.found), key=lambda finding: (finding.line, finding.what))


def findings(path):
    """Find the places of a file, or of all Python files below a folder, that want an edit.

    Args:
        path (str or path): The file or folder. Nothing is written.

    Returns:
        list of Finding: By file and line.

    Raises:
        FileNotFoundError: There is no such file.
    """
    root = pathlib.Path(path)
    if not root.exists():
        raise FileNotFoundError(f'there is no file or folder {root}')
    files = [root] if root.is_file() else sorted(
        file for file in root.rglob('*.py') if not any(
            part.startswith('.') or part == 'site-packages'
            for part in file.relative_to(root).parts))
    found = []
    for file in files:
        found += findings_of(file.read_text(encoding='utf-8', errors='replace'), str(file))
    return found


def main(path):
    """Write the findings to standard output.

    Args:
        path (str): File or folder.

    Returns:
        int: 0 if nothing was found, 1 if something was, 2 if there is no such path.
    """
    try:
        found = findings(path)
    except FileNotFoundError as error:
        sys.stderr.write(f'{error}\n')
        return 2
    for finding in found:
        sys.stdout.write(f'{finding}\n')
    files = len({finding.path for finding in found})
    sys.stdout.write(
        f'{len(found)} places in {files} files want an edit; docs/migrating.md says more.\n'
        if found else 'Nothing found that wants an edit.\n')
    return 1 if found else 0
