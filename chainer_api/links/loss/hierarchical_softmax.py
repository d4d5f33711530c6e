"""Hierarchical softmax loss layer."""
import heapq

import numpy

import chainer
from chainer import function_node, initializers, link, variable
from chainer import functions as F
from chainer.utils import type_check


class BinaryHierarchicalSoftmax(link.Link):
    r"""Hierarchical softmax loss layer over a binary tree, for very many classes.

    The classes are the leaves of a tree. The probability of a class is that of its path
    :math:`((e_1, b_1), ..., (e_m, b_m))` from the root, where :math:`e_i` is an inner node and
    :math:`b_i` is 1 if the path goes to the left there and -1 if it goes to the right:

    .. math:: P(t) = \prod_i \sigma(b_i x^\top w_{e_i})

    So a loss costs as much as the path is long. See: `Morin and Bengio, Hierarchical Probabilistic
    Neural Network Language Model <https://www.iro.umontreal.ca/~lisa/pointeurs/
    hierarchical-nnlm-aistats05.pdf>`_.

    Args:
        in_size (int): Size of an input.
        tree: A tree of nested pairs, whose leaves are classes, such as ``((1, 2), 3)``.
        dtype: Type of the parameter; ``chainer.config.dtype`` by default.

    Attributes:
        W (Parameter): One vector for each inner node, of shape (number of nodes, in_size).

    Raises:
        ValueError: An inner node has not two children.

    Example:
        >>> layer = L.BinaryHierarchicalSoftmax(3, ((0, 1), 2))
        >>> layer.W.shape
        (2, 3)
        >>> layer(np.zeros((2, 3), np.float32), np.array([0, 2], np.int32)).array  # 3 log(2)
        array(2.0794415, dtype=float32)
    """

    def __init__(self, in_size, tree, dtype=None):
        super().__init__()
        dtype = chainer.get_dtype(dtype)
        paths = _paths(tree)
        self._nodes, self._signs = _tables(paths, dtype)
        n_nodes = len({node for path in paths.values() for node, _ in path})
        with self.init_scope():
            self.W = variable.Parameter(
                initializers.Uniform(1.0, dtype=dtype), (n_nodes, in_size))

    def device_resident_accept(self, visitor):
        super().device_resident_accept(visitor)
        self._nodes = visitor.visit_array(self._nodes)
        self._signs = visitor.visit_array(self._signs)

    def __setstate__(self, state):
        super().__setstate__(state)
        if '_func' in state:
            func = self.__dict__.pop('_func')
            self._nodes, self._signs = _tables(func.to_paths(), func.codes.dtype)

    @staticmethod
    def create_huffman_tree(word_counts):
        """Makes a Huffman tree, in which frequent classes have short paths.

        Args:
            word_counts (dict): Counts of the classes.

        Returns:
            A tree of nested pairs.

        Raises:
            ValueError: There is no class.

        Example:
            >>> L.BinaryHierarchicalSoftmax.create_huffman_tree({0: 8, 1: 5, 2: 6, 3: 4})
            ((3, 1), (2, 0))
        """
        if not word_counts:
            raise ValueError('Empty vocabulary')
        # The number in the middle decides between equal counts.
        heap = [(count, i, word) for i, (word, count) in enumerate(word_counts.items())]
        heapq.heapify(heap)
        for i in range(len(heap), 2 * len(heap) - 1):
            left_count, _, left = heapq.heappop(heap)
            right_count, _, right = heapq.heappop(heap)
            heapq.heappush(heap, (left_count + right_count, i, (left, right)))
        return heap[0][2]

    def forward(self, x, t):
        """Computes the loss.

        Args:
            x (Variable or array): Batch of inputs.
            t (Variable or array): Classes, int32.

        Returns:
            Variable: Sum of the negative log-likelihoods.
        """
        nodes, signs, on_path = _LookUpPaths(self._nodes, self._signs).apply((t,))
        score = F.einsum('ij,ikj->ik', x, F.embed_id(nodes, self.W)) * signs
        return F.sum(F.softplus(-score) * on_path)


class BinaryHierarchicalSoftmaxFunction:
    """What the link keeps its tree in, in pickles of Chainer.

    The nodes and directions of all paths stand one path after the other in ``paths`` and ``codes``;
    ``begins`` are the places where they begin.
    """

    def to_paths(self):
        """The same as :func:`_paths` returns."""
        steps = list(zip(self.paths.tolist(), self.codes.tolist(), strict=True))
        begins = self.begins.tolist()
        return {leaf: tuple(steps[a:b])
                for leaf, (a, b) in enumerate(zip(begins, begins[1:], strict=False))}


class _LookUpPaths(function_node.FunctionNode):
    """The nodes, the directions, and which of them are there, of the paths of some classes."""

    def __init__(self, nodes, signs):
        self.nodes = nodes
        self.signs = signs

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('t',))
        t_type, = in_types
        type_check.expect(
            t_type.dtype == numpy.int32,
            t_type.ndim == 1,
        )

    def forward(self, inputs):
        t, = inputs
        xp = chainer.backend.get_array_module(t)
        signs = xp.asarray(self.signs)[t]
        return xp.asarray(self.nodes)[t], signs, abs(signs)

    def backward(self, indexes, grad_outputs):
        return None,


def _paths(tree):
    """The path to each leaf, a tuple of pairs of an inner node and of 1 or -1.

    Inner nodes are numbered from the root, those on the left first.
    """
    paths = {}
    n_nodes = 0
    todo = [(tree, ())]
    while todo:
        subtree, path = todo.pop()
        if not isinstance(subtree, tuple):
            paths[subtree] = path
            continue
        if len(subtree) != 2:
            raise ValueError('All internal nodes must have two child nodes')
        left, right = subtree
        todo.append((right, (*path, (n_nodes, -1))))
        todo.append((left, (*path, (n_nodes, 1))))
        n_nodes += 1
    return paths


def _tables(paths, dtype):
    """All paths as arrays of nodes and signs; the sign is zero after the end of a path."""
    shape = (max(paths) + 1, max(map(len, paths.values())))
    nodes = numpy.zeros(shape, numpy.int32)
    signs = numpy.zeros(shape, dtype)
    for leaf, path in paths.items():
        for i, (node, sign) in enumerate(path):
            nodes[leaf, i] = node
            signs[leaf, i] = sign
    return nodes, signs
