"""A picture of the graph."""
import os
import shutil
import subprocess

from chainer import computational_graph, configuration, variable
from chainer import serializer as serializer_module
from chainer.training import _files, extension

_VARIABLE_STYLE = {'shape': 'octagon', 'fillcolor': '#E0E0E0', 'style': 'filled'}
_FUNCTION_STYLE = {'shape': 'record', 'fillcolor': '#6495ED', 'style': 'filled'}

# The extensions that still need the graph, and what the flag was before the first of them.
_waiting = {}


class DumpGraph(extension.Extension):
    """Extension that writes the computational graph of a reported variable, once.

    It does so in the first iteration, for which it sets ``chainer.config.keep_graph_on_report``.
    The file is in the language of Graphviz; where its command ``dot`` is installed, a PNG picture
    comes with it.

    Args:
        root_name (str): Key of the variable in the observations, such as ``'main/loss'``.
        out_name (str): Name of the file in the trainer's ``out``; ``filename`` is accepted as well.
        variable_style (dict): Attributes of the nodes of variables.
        function_style (dict): Attributes of the nodes of functions.
    """

    default_name = 'dump_graph'

    def __init__(self, root_name, out_name='cg.dot', variable_style=None, function_style=None, *,
                 filename=None):
        self._root_name = root_name
        self._out_name = out_name if filename is None else filename
        self._variable_style = _VARIABLE_STYLE if variable_style is None else variable_style
        self._function_style = _FUNCTION_STYLE if function_style is None else function_style
        self._flag_called = False

    def initialize(self, trainer):
        """Sets ``keep_graph_on_report`` until the graph is written."""
        if not self._flag_called:
            if not _waiting:
                _waiting['original flag'] = configuration.config.keep_graph_on_report
                configuration.config.keep_graph_on_report = True
            _waiting[self] = True

    def trigger(self, trainer):
        """Fires once."""
        fire, self._flag_called = not self._flag_called, True
        return fire

    def __call__(self, trainer):
        """Writes the graph.

        Raises:
            KeyError: Nothing was reported under the name.
            TypeError: What was reported is no variable.
        """
        self._restore_flag()
        root = trainer.observation.get(self._root_name)
        if root is None:
            raise KeyError(f'{self._root_name!r} was not reported; these were: '
                           f'{", ".join(sorted(trainer.observation))}')
        if not isinstance(root, variable.Variable):
            raise TypeError(
                f'root value is not a Variable: {self._root_name!r} is of type '
                f'{type(root).__name__}')
        graph = computational_graph.build_computational_graph(
            [root], variable_style=self._variable_style, function_style=self._function_style)
        path = os.path.join(trainer.out, self._out_name)
        _files.write_whole(path, lambda temporary: _write(temporary, graph.dump()))
        if shutil.which('dot') is not None:
            picture = os.path.splitext(path)[0] + '.png'
            subprocess.run(['dot', '-Tpng', path, '-o', picture], check=False)

    def finalize(self):
        """Restores ``keep_graph_on_report`` if the training ended before the first iteration."""
        self._restore_flag()

    def _restore_flag(self):
        if _waiting.pop(self, False) and len(_waiting) == 1:
            configuration.config.keep_graph_on_report = _waiting.pop('original flag')

    def serialize(self, serializer):
        """Saves or restores whether the graph was written."""
        self._flag_called = serializer('_flag_called', self._flag_called)
        if not isinstance(serializer, serializer_module.Deserializer):
            # Chainer 7 asks for it, to restore the flag; here it is known from the process alone.
            serializer('_original_flag', bool(
                _waiting.get('original flag', configuration.config.keep_graph_on_report)))


def _write(path, text):
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
