"""Drawing of computational graphs in the DOT language."""
from chainer import function_node, variable

_VARIABLE_STYLE = {'shape': 'octagon', 'fillcolor': '#E0E0E0', 'style': 'filled'}
_FUNCTION_STYLE = {'shape': 'record', 'fillcolor': '#6495ED', 'style': 'filled'}
_RANKDIRS = ('TB', 'BT', 'LR', 'RL')


def _quoted(text):
    return '"' + text.replace('"', '\\"') + '"'


class DotNode:
    """A node in the DOT language.

    Args:
        node (VariableNode or FunctionNode): The node.
        attribute (dict): Attributes of the drawing.
        show_name (bool): Whether the name of a variable stands in its label.
    """

    def __init__(self, node, attribute=None, show_name=True):
        self.node = node
        self.id_ = id(node)
        is_variable = isinstance(node, variable.VariableNode)
        label = node.label
        if show_name and is_variable and node.name is not None:
            label = f'{node.name}: {label}'
        shape = 'oval' if is_variable else 'box'
        self.attribute = {'label': label, 'shape': shape, **(attribute or {})}

    @property
    def label(self):
        """The line that declares the node."""
        attributes = ','.join([f'{key}={_quoted(str(x))}' for key, x in self.attribute.items()])
        return f'{self.id_} [{attributes}];'

    def __str__(self):
        return self.label


class ComputationalGraph:
    """Nodes and edges of a computational graph; :func:`build_computational_graph` makes it.

    Args:
        nodes (list): :class:`~chainer.variable.VariableNode` and :class:`~chainer.FunctionNode`
            objects.
        edges (list): Pairs of nodes.
        variable_style (dict): DOT attributes of variables, ``None`` for none.
        function_style (dict): DOT attributes of functions, ``None`` for none.
        rankdir ({'TB', 'BT', 'LR', 'RL'}): Direction, for example ``'TB'`` from top to bottom.
        remove_variable (bool): Whether functions alone are drawn; ``nodes`` and ``edges`` keep the
            variables.
        show_name (bool): Whether names of variables are drawn.
    """

    def __init__(
            self, nodes, edges, variable_style=_VARIABLE_STYLE, function_style=_FUNCTION_STYLE,
            rankdir='TB', remove_variable=False, show_name=True):
        if rankdir not in _RANKDIRS:
            raise ValueError(f"rankdir must be 'TB', 'BT', 'LR' or 'RL', not {rankdir!r}")
        self.nodes = nodes
        self.edges = edges
        self.variable_style = variable_style
        self.function_style = function_style
        self.rankdir = rankdir
        self.remove_variable = remove_variable
        self.show_name = show_name

    def _to_dot(self):
        lines = [f'digraph graphname{{rankdir={self.rankdir};']
        nodes, edges = self.nodes, self.edges
        if self.remove_variable:
            nodes, edges = _without_variables(nodes, edges)
        for node in nodes:
            is_variable = isinstance(node, variable.VariableNode)
            style = self.variable_style if is_variable else self.function_style
            lines.append(DotNode(node, style, self.show_name).label)
        for head, tail in edges:
            lines.append(f'{id(head)} -> {id(tail)};')
        return ''.join(lines) + '}'

    def dump(self, format='dot'):
        """Return the graph as text.

        Args:
            format (str): Language of the text; only ``'dot'`` is there.

        Returns:
            str: The graph in the DOT language (the ``dot`` program of Graphviz draws it).
        """
        if format != 'dot':
            raise NotImplementedError(f"only the format 'dot' is there, not {format!r}")
        return self._to_dot()

    def _repr_svg_(self):
        """What a notebook shows, if Graphviz is installed."""
        import graphviz

        try:
            return graphviz.Source(self.dump()).pipe('svg', encoding='utf-8')
        except graphviz.ExecutableNotFound:
            return None


def _without_variables(nodes, edges):
    """Connect functions with each other directly."""
    makers = {tail: head for head, tail in edges if isinstance(tail, variable.VariableNode)}
    shortened = {}
    for head, tail in edges:
        if isinstance(head, variable.VariableNode) and head in makers:
            shortened[makers[head], tail] = None
    nodes = [node for node in nodes if not isinstance(node, variable.VariableNode)]
    return nodes, list(shortened)


def build_computational_graph(
        outputs, remove_split=True, variable_style=_VARIABLE_STYLE,
        function_style=_FUNCTION_STYLE, rankdir='TB', remove_variable=False, show_name=True):
    """Return the graph of everything that ``outputs`` were computed from.

    Args:
        outputs (list): :class:`~chainer.Variable`, :class:`~chainer.variable.VariableNode` or
            :class:`~chainer.FunctionNode` objects.
        remove_split (bool): Must be ``True``.
        variable_style (dict): DOT attributes of variables, ``None`` for none.
        function_style (dict): DOT attributes of functions, ``None`` for none.
        rankdir ({'TB', 'BT', 'LR', 'RL'}): Direction, for example ``'TB'`` from top to bottom.
        remove_variable (bool): Whether functions alone are drawn.
        show_name (bool): Whether names of variables are drawn.

    Returns:
        ComputationalGraph: The graph; ``graph.dump()`` is its text.

    .. doctest::

        >>> x = chainer.Variable(np.zeros(3, np.float32), name='x')
        >>> graph = chainer.computational_graph.build_computational_graph([x * 2])
        >>> [node.label for node in graph.nodes]
        ['(3), float32', '_ * 2', '(3), float32']
    """
    if not remove_split:
        raise ValueError('remove_split=False is not supported any more')
    if isinstance(outputs, (variable.Variable, variable.VariableNode, function_node.FunctionNode)):
        outputs = [outputs]
    outputs = [x.node if isinstance(x, variable.Variable) else x for x in outputs]
    nodes, edges = _walk(outputs)
    return ComputationalGraph(
        nodes, edges, variable_style, function_style, rankdir, remove_variable, show_name)


def _walk(outputs):
    """Return all nodes before ``outputs``, and the edges between them, in a stable order."""
    edges = {}
    seen = dict.fromkeys(outputs)
    stack = list(reversed(outputs))
    while stack:
        node = stack.pop()
        if isinstance(node, variable.VariableNode):
            creator = node.creator_node  # inside of a compiled call, the one in there
            before = () if creator is None else (creator,)
        else:
            before = node.inputs or ()
        for other in before:
            edges[other, node] = None
            if other not in seen:
                seen[other] = None
                stack.append(other)
    return list(seen), list(edges)
