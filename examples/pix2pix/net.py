"""The networks of pix2pix.

See P. Isola et al., "Image-to-Image Translation with Conditional Adversarial Networks"
(arXiv:1611.07004).
"""
import chainer
import chainer.functions as F
import chainer.links as L


def _normal():
    return chainer.initializers.Normal(0.02)


class Down(chainer.Chain):
    """Halves the size."""

    def __init__(self, n_in, n_out, norm=True):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(n_in, n_out, 4, 2, 1, initialW=_normal())
            self.bn = L.BatchNormalization(n_out) if norm else None

    def forward(self, x):
        h = self.conv(x)
        return F.leaky_relu(h if self.bn is None else self.bn(h))


class Up(chainer.Chain):
    """Doubles the size."""

    def __init__(self, n_in, n_out, dropout=False):
        super().__init__()
        self.dropout = dropout
        with self.init_scope():
            self.conv = L.Deconvolution2D(n_in, n_out, 4, 2, 1, initialW=_normal())
            self.bn = L.BatchNormalization(n_out)

    def forward(self, x):
        h = self.bn(self.conv(x))
        return F.relu(F.dropout(h) if self.dropout else h)


class Generator(chainer.Chain):
    """U-Net: goes down to few pixels and up again, with shortcuts between equal sizes.

    Args:
        n_in, n_out (int): Channels of the two pictures.
        ch (int): Channels of the first layer.
        n_down (int): How often the size is halved.
    """

    def __init__(self, n_in, n_out, ch=64, n_down=8):
        super().__init__()
        widths = [min(ch * 2 ** i, 8 * ch) for i in range(n_down)]
        with self.init_scope():
            self.first = L.Convolution2D(n_in, ch, 3, 1, 1, initialW=_normal())
            self.downs = chainer.ChainList(*[
                Down(a, b) for a, b in zip([ch] + widths, widths)])
            outs = widths[-2::-1] + [ch]
            ins = [widths[-1]] + [2 * n for n in outs]
            self.ups = chainer.ChainList(*[
                Up(a, b, dropout=i < 3) for i, (a, b) in enumerate(zip(ins, outs))])
            self.last = L.Convolution2D(2 * ch, n_out, 3, 1, 1, initialW=_normal())

    def forward(self, x):
        kept = [F.leaky_relu(self.first(x))]
        for down in self.downs:
            kept.append(down(kept[-1]))
        h = kept.pop()
        for up in self.ups:
            h = F.concat([up(h), kept.pop()])
        return F.tanh(self.last(h))


class Discriminator(chainer.Chain):
    """Tells for each patch whether a picture that belongs to another one is real."""

    def __init__(self, n_in, n_out, ch=64):
        super().__init__()
        with self.init_scope():
            self.of_in = Down(n_in, ch // 2, norm=False)
            self.of_out = Down(n_out, ch // 2, norm=False)
            self.down1 = Down(ch, 2 * ch)
            self.down2 = Down(2 * ch, 4 * ch)
            self.last = L.Convolution2D(4 * ch, 1, 3, 1, 1, initialW=_normal())

    def forward(self, x, y):
        h = F.concat([self.of_in(x), self.of_out(y)])
        return self.last(self.down2(self.down1(h)))
