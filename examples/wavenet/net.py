"""WaveNet: convolutions over time that see far into the past, never the future.

See A. van den Oord et al., "WaveNet: A Generative Model for Raw Audio" (arXiv:1609.03499).
"""
import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L


class CausalConvolution(chainer.Chain):
    """Convolution of two samples, ``dilation`` apart: the present one and an earlier one.

    The output is ``dilation`` samples shorter than the input.
    """

    def __init__(self, n_in, n_out, dilation):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution1D(n_in, n_out, ksize=2, dilate=dilation)

    def forward(self, x):
        return self.conv(x)


class ResidualBlock(chainer.Chain):
    """One gated convolution; part of it goes on, part of it straight to the output."""

    def __init__(self, dilation, n_residual, n_skip):
        super().__init__()
        self.dilation = dilation
        with self.init_scope():
            self.conv = CausalConvolution(n_residual, 2 * n_residual, dilation)
            self.residual = L.Convolution1D(n_residual, n_residual, 1)
            self.skip = L.Convolution1D(n_residual, n_skip, 1)

    def forward(self, x):
        filtered, gate = F.split_axis(self.conv(x), 2, axis=1)
        h = F.tanh(filtered) * F.sigmoid(gate)
        return self.residual(h) + x[:, :, self.dilation:], self.skip(h)


class WaveNet(chainer.Chain):
    """Tells, for each sample, how likely each level of the next one is.

    Args:
        n_loop (int): How often the dilations go from 1 to ``2 ** (n_layer - 1)``.
        n_layer (int): Dilations, each twice as large as the one before.
        n_residual, n_skip (int): Channels.
        n_levels (int): Levels of the sound.
    """

    def __init__(self, n_loop, n_layer, n_residual, n_skip, n_levels):
        super().__init__()
        self.n_levels = n_levels
        dilations = [2 ** i for i in range(n_layer)] * n_loop
        # So many samples before the present one are seen.
        self.n_past = 1 + sum(dilations)
        with self.init_scope():
            self.embed = L.EmbedID(n_levels, n_residual)
            self.first = CausalConvolution(n_residual, n_residual, 1)
            self.blocks = chainer.ChainList(*[
                ResidualBlock(dilation, n_residual, n_skip) for dilation in dilations])
            self.last1 = L.Convolution1D(n_skip, n_skip, 1)
            self.last2 = L.Convolution1D(n_skip, n_levels, 1)

    def scores(self, levels):
        """Return the scores of the samples after ``levels[:, n_past:]``.

        Args:
            levels: Array of int32 of the shape (batch, time).

        Returns:
            Variable of the shape (batch, n_levels, time - n_past).
        """
        x = self.first(F.transpose(self.embed(levels), (0, 2, 1)))
        n_out = levels.shape[1] - self.n_past
        total = 0
        for block in self.blocks:
            x, skip = block(x)
            total += skip[:, :, skip.shape[2] - n_out:]
        h = F.relu(self.last1(F.relu(total)))
        return self.last2(h)

    def forward(self, levels):
        scores = self.scores(levels[:, :-1])
        following = levels[:, self.n_past + 1:]
        loss = F.softmax_cross_entropy(scores, following)
        chainer.report({'loss': loss, 'accuracy': F.accuracy(scores, following)}, self)
        return loss

    def generate(self, past, n_samples):
        """Return sounds: ``past``, an array of levels, and samples drawn to go on.

        Each sample needs the ``n_past + 1`` samples before it, so there must be as many.
        """
        levels = self.xp.asarray(past)
        seen = levels[:, -self.n_past - 1:].copy()
        made = [levels]
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            for _ in range(n_samples):
                p = chainer.backends.cuda.to_cpu(F.softmax(self.scores(seen)[:, :, 0]).array)
                drawn = [np.random.choice(self.n_levels, p=q / q.sum())
                         for q in p.astype(np.float64)]
                made.append(self.xp.array(drawn, np.int32)[:, None])
                seen = self.xp.concatenate([seen[:, 1:], made[-1]], axis=1)
        return chainer.backends.cuda.to_cpu(self.xp.concatenate(made, axis=1))
