"""Discriminative loss for instance segmentation."""
import itertools

import numpy as np

from chainer import backend, function_node
from chainer import functions as F
from chainer.utils import _errors


class _InstanceMasks(function_node.FunctionNode):
    """Which pixels belong to instance 1, 2, ..., n: ``(n, B, 1, H, W)``."""

    def __init__(self, n, dtype):
        self.n = n
        self.dtype = dtype

    def forward(self, inputs):
        labels, = inputs
        xp = backend.get_array_module(labels)
        instances = xp.arange(1, self.n + 1).reshape(-1, 1, 1, 1, 1)
        return (labels[None, :, None] == instances).astype(self.dtype),


class DiscriminativeMarginBasedClusteringLoss:
    """Discriminative loss with its settings.

    See :func:`discriminative_margin_based_clustering_loss`.
    """

    def __init__(self, delta_v=0.5, delta_d=1.5, max_embedding_dim=10, norm=1, alpha=1.0, beta=1.0,
                 gamma=0.001):
        if norm not in (1, 2):
            raise ValueError(
                'For discriminative loss, norm can only be 1 or 2. '
                f'Obtained the value : {norm}')
        self.delta_v = delta_v
        self.delta_d = delta_d
        self.max_embedding_dim = max_embedding_dim
        self.norm = norm
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma

    def __call__(self, embeddings, labels):
        """The three losses.

        Args:
            embeddings (Variable or array): of shape ``(B, E, H, W)``.
            labels (array): of shape ``(B, H, W)``.
        """
        _errors.check_arrays(
            'discriminative_margin_based_clustering_loss', x=embeddings, labels=labels)
        masks, = _InstanceMasks(self.max_embedding_dim, embeddings.dtype).apply((labels,))
        embeddings = F.expand_dims(embeddings, 0)
        counts = F.sum(masks, axis=(3, 4))
        centers = F.sum(embeddings * masks, axis=(3, 4)) / F.clip(counts, 1., None)
        return (
            self.alpha * self._variance(embeddings, masks, counts, centers),
            self.beta * self._distance(centers),
            self.gamma * self._regularization(centers),
        )

    def _variance(self, embeddings, masks, counts, centers):
        """Pixels shall be near the center of their instance."""
        offsets = embeddings - F.expand_dims(F.expand_dims(centers, 3), 4)
        excess = F.relu(self._length(offsets, 2) - self.delta_v)
        square = F.square(excess) * F.squeeze(masks, 2)
        each = F.sum(square, axis=(1, 2, 3)) / F.clip(F.sum(counts, axis=(1, 2)), 1., None)
        return F.mean(each)

    def _distance(self, centers):
        """Centers of different instances shall be far from each other."""
        pairs = itertools.combinations(range(self.max_embedding_dim), 2)
        missing = [
            F.relu(2 * self.delta_d - self._length(centers[i] - centers[j], 1))
            for i, j in pairs]
        if not missing:
            return F.sum(centers[:0])
        return F.mean(F.square(F.stack(missing)))

    def _regularization(self, centers):
        """Centers shall be near zero."""
        length = self._length(centers, (1, 2))
        return F.sum(length) * (1. / max(centers.shape[0] * centers.shape[1], 1))

    def _length(self, x, axis):
        if self.norm == 1:
            return F.sum(F.absolute(x), axis=axis)
        # The root has no finite slope at zero. The smallest number is nothing beside the others:
        # 1e-12 is not, since instances that do not occur have the length zero.
        square = F.sum(F.square(x), axis=axis)
        return F.sqrt(F.clip(square, float(np.finfo(square.dtype).smallest_subnormal), None))


def discriminative_margin_based_clustering_loss(
        embeddings, labels, delta_v, delta_d, max_embedding_dim, norm=1, alpha=1.0, beta=1.0,
        gamma=0.001):
    """Discriminative loss for instance segmentation.

    Pixels of an instance are pulled to its center, centers are pushed apart, and drawn to zero.
    See: `De Brabandere, Neven and Van Gool, Semantic Instance Segmentation with a Discriminative
    Loss Function <https://arxiv.org/abs/1708.02551>`_.

    Args:
        embeddings (Variable or array): vectors of the pixels, of shape ``(B, E, H, W)``.
        labels (array): instances of the pixels, integers of shape ``(B, H, W)``; 0 for the
            background.
        delta_v (float): distance from the center up to which pixels are not pulled.
        delta_d (float): half of the distance from which on centers are not pushed.
        max_embedding_dim (int): number of instances: labels from 1 to this number count.
        norm (int): the norm of distances, 1 or 2.
        alpha (float): weight of the first loss.
        beta (float): weight of the second loss.
        gamma (float): weight of the third loss.

    Returns:
        tuple of three Variables: the losses, each with its weight.

    Raises:
        ValueError: if ``norm`` is something else.

    >>> embeddings = np.array([[[[0., 2., 8.]]]])
    >>> labels = np.array([[[1, 1, 2]]])
    >>> losses = F.discriminative_margin_based_clustering_loss(embeddings, labels, .5, 5., 2)
    >>> [round(float(loss.array), 4) for loss in losses]
    [0.125, 9.0, 0.0045]
    """
    loss = DiscriminativeMarginBasedClusteringLoss(
        delta_v, delta_d, max_embedding_dim, norm, alpha, beta, gamma)
    return loss(embeddings, labels)
