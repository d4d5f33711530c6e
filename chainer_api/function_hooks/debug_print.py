"""Hook that prints what goes into functions."""
import sys

from chainer import backend, function_hook, variable


class PrintHook(function_hook.FunctionHook):
    """Hook that prints inputs and output gradients of functions before they run.

    Args:
        sep: Not used.
        end (str): Written after each piece of text.
        file: Output file, standard output by default.
        flush (bool): Whether the file is flushed after each function.

    .. doctest::

        >>> x = chainer.Variable(np.ones(3, np.float32))
        >>> with chainer.function_hooks.PrintHook():  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
        ...     y = x * 2
        function _ * 2
        input data
        <variable at ...>
        - device: CPU
        - backend: <class 'numpy.ndarray'>
        - shape: (3,)
        - dtype: float32
        - statistics: mean=1.00000000, std=0.00000000
        - grad: None
    """

    name = 'PrintHook'

    def __init__(self, sep=None, end='\n', file=None, flush=True):
        self.sep = sep
        self.end = end
        self.file = file
        self.flush = flush

    def _process(self, function, in_data, out_grad=None):
        texts = [f'function\t{function.label}', 'input data']
        for x in in_data:
            texts.append('(removed)' if x is None else variable.Variable(x).debug_print())
        if out_grad is not None:
            texts.append('output gradient')
            for gy in out_grad:
                if gy is None:
                    texts.append('(None)')
                    continue
                zeros = backend.get_array_module(gy).zeros_like(gy)
                texts.append(variable.Variable(zeros, grad=gy).debug_print())
        file = sys.stdout if self.file is None else self.file
        for text in texts:
            file.write(text + self.end)
        if self.flush:
            file.flush()

    def forward_preprocess(self, function, in_data):
        self._process(function, in_data)

    def backward_preprocess(self, function, in_data, out_grad):
        self._process(function, in_data, out_grad)
