"""Convolutional networks: classification, detection, segmentation, style."""

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L

from .case import Case, case, classifier, images, rng


class Mlp(chainer.Chain):
    def __init__(self, units=64, out=5):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, units)
            self.l2 = L.Linear(units, units)
            self.l3 = L.Linear(units, out)

    def forward(self, x):
        h = F.relu(self.l1(x))
        h = F.relu(self.l2(h))
        return self.l3(h)


@case
def mnist_mlp(compiled):
    """The first example of the documentation."""
    return Case(classifier(compiled, Mlp(), True), images(32, 1, 8, vary=True))


class LeNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(None, 6, 5, pad=2)
            self.conv2 = L.Convolution2D(6, 16, 5)
            self.fc1 = L.Linear(None, 60)
            self.fc2 = L.Linear(60, 5)

    def forward(self, x):
        h = F.max_pooling_2d(F.sigmoid(self.conv1(x)), 2, 2)
        h = F.max_pooling_2d(F.sigmoid(self.conv2(h)), 2, 2)
        h = F.dropout(F.sigmoid(self.fc1(h)))
        return self.fc2(h)


@case
def lenet(compiled):
    return Case(classifier(compiled, LeNet()), images(4, 1, 20))


class VggBlock(chainer.Chain):
    def __init__(self, channels, layers):
        super().__init__()
        self.layers = layers
        for k in range(layers):
            self.add_link(f"conv{k}", L.Convolution2D(None, channels, 3, pad=1, nobias=True))
            self.add_link(f"bn{k}", L.BatchNormalization(channels))

    def forward(self, h):
        for k in range(self.layers):
            h = F.relu(self[f"bn{k}"](self[f"conv{k}"](h)))
            if k + 1 < self.layers:
                h = F.dropout(h, ratio=0.3)
        return F.max_pooling_2d(h, ksize=2, stride=2)


@case
def vgg_cifar(compiled):
    """Blocks of convolution, normalization, dropout; as in the cifar example."""
    net = chainer.Sequential(
        VggBlock(8, 2), VggBlock(12, 2), VggBlock(16, 3), L.Linear(None, 32),
        L.BatchNormalization(32), F.relu, F.dropout, L.Linear(32, 5),
    )  # fmt: skip
    return Case(classifier(compiled, net), images(4, 3, 16))


class Residual(chainer.Chain):
    def __init__(self, n_in, n_out, stride=1):
        super().__init__()
        self.shortcut = n_in != n_out
        with self.init_scope():
            self.conv1 = L.Convolution2D(n_in, n_out, 3, stride, 1, nobias=True)
            self.bn1 = L.BatchNormalization(n_out)
            self.conv2 = L.Convolution2D(n_out, n_out, 3, 1, 1, nobias=True)
            self.bn2 = L.BatchNormalization(n_out)
            if self.shortcut:
                self.conv3 = L.Convolution2D(n_in, n_out, 1, stride, nobias=True)
                self.bn3 = L.BatchNormalization(n_out)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        h = self.bn2(self.conv2(h))
        return F.relu(h + (self.bn3(self.conv3(x)) if self.shortcut else x))


@case
def resnet_small(compiled):
    class ResNet(chainer.ChainList):
        def __init__(self):
            super().__init__(
                L.Convolution2D(3, 8, 3, pad=1, nobias=True), L.BatchNormalization(8),
                Residual(8, 8), Residual(8, 16, 2), Residual(16, 16), L.Linear(16, 5),
            )  # fmt: skip

        @compiled
        def forward(self, x, t):
            h = F.relu(self[1](self[0](x)))
            for k in range(2, len(self) - 1):
                h = self[k](h)
            h = F.average(h, axis=(2, 3))
            return F.softmax_cross_entropy(self[-1](h), t)

    return Case(ResNet(), images(4, 3, 12))


def _feature_loss(compiled, net, size, n=1, layers=("prob",)):
    """A link of the library as a feature extractor that is trained."""

    class Whole(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.net = net

        @compiled
        def forward(self, x, t):
            found = self.net(x, layers=list(layers))
            return F.mean(-F.log(F.select_item(found[layers[-1]], t) + 1e-6))

    return Case(Whole(), images(n, 3, size, 5))


@case
def large_resnet50(compiled):
    """The library's own, at its own size."""
    return _feature_loss(compiled, L.ResNet50Layers(None), 224)


@case
def large_googlenet(compiled):
    return _feature_loss(compiled, L.GoogLeNet(None), 224)


@case
def large_vgg16(compiled):
    return _feature_loss(compiled, L.VGG16Layers(None), 224)


@case
def inception_bn(compiled):
    """Two inception modules of the library."""

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.conv = L.Convolution2D(3, 8, 3, pad=1)
                self.inc1 = L.InceptionBN(8, 4, 4, 4, 4, 6, "avg", 4)
                self.inc2 = L.Inception(18, 4, 4, 8, 2, 4, 4)
                self.out = L.Linear(20, 5)

        @compiled
        def forward(self, x, t):
            h = F.local_response_normalization(F.relu(self.conv(x)))
            h = self.inc2(self.inc1(h))
            y = self.out(F.average(h, axis=(2, 3)))
            return F.softmax_cross_entropy(y, t)

    return Case(Net(), images(2, 3, 10))


@case
def squeezenet(compiled):
    class Fire(chainer.Chain):
        def __init__(self, n_in, squeeze, expand):
            super().__init__()
            with self.init_scope():
                self.s = L.Convolution2D(n_in, squeeze, 1)
                self.e1 = L.Convolution2D(squeeze, expand, 1)
                self.e3 = L.Convolution2D(squeeze, expand, 3, pad=1)

        def forward(self, x):
            h = F.elu(self.s(x))
            return F.elu(F.concat([self.e1(h), self.e3(h)], axis=1))

    net = chainer.Sequential(
        L.Convolution2D(3, 8, 3), F.relu, Fire(8, 4, 8), Fire(16, 4, 8),
        lambda x: F.max_pooling_2d(x, 3, 2), Fire(16, 6, 12), F.dropout,
        L.Convolution2D(24, 5, 1), F.relu, lambda x: F.average(x, axis=(2, 3)),
    )  # fmt: skip
    return Case(classifier(compiled, net), images(2, 3, 14))


@case
def mobilenet(compiled):
    """Depthwise separable convolutions."""

    class Block(chainer.Chain):
        def __init__(self, n_in, n_out):
            super().__init__()
            with self.init_scope():
                self.depth = L.DepthwiseConvolution2D(n_in, 1, 3, pad=1, nobias=True)
                self.bn1 = L.BatchNormalization(n_in)
                self.point = L.Convolution2D(n_in, n_out, 1, nobias=True)
                self.bn2 = L.BatchNormalization(n_out)

        def forward(self, x):
            h = F.clipped_relu(self.bn1(self.depth(x)), 6.0)
            return F.clipped_relu(self.bn2(self.point(h)), 6.0)

    net = chainer.Sequential(
        Block(3, 8), Block(8, 12), lambda x: F.average_pooling_2d(x, 4), L.Linear(None, 5)
    )
    return Case(classifier(compiled, net), images(4, 3, 12))


@case
def densenet(compiled):
    class Layer(chainer.Chain):
        def __init__(self, n_in, growth=6):
            super().__init__()
            with self.init_scope():
                self.bn = L.BatchNormalization(n_in)
                self.conv = L.Convolution2D(n_in, growth, 3, pad=1)

        def forward(self, x):
            h = F.dropout(self.conv(F.relu(self.bn(x))), 0.2)
            return F.concat((x, h))

    net = chainer.Sequential(
        L.Convolution2D(3, 8, 3), *[Layer(8 + 6 * k) for k in range(4)],
        lambda x: F.average_pooling_2d(x, x.shape[2]), L.Linear(None, 5),
    )  # fmt: skip
    return Case(classifier(compiled, net), images(3, 3, 10))


@case
def senet(compiled):
    """Squeeze and excitation."""

    class Gate(chainer.Chain):
        def __init__(self, n):
            super().__init__()
            with self.init_scope():
                self.conv = L.Convolution2D(None, n, 3, pad=1)
                self.down, self.up = L.Linear(n, n // 4), L.Linear(n // 4, n)

        def forward(self, x):
            h = F.relu(self.conv(x))
            b, c, height, width = h.shape
            z = F.average_pooling_2d(h, (height, width)).reshape((b, c))
            s = F.sigmoid(self.up(F.relu(self.down(z))))
            return h * F.broadcast_to(F.reshape(s, (b, c, 1, 1)), h.shape)

    net = chainer.Sequential(Gate(8), Gate(8), L.Linear(None, 5))
    return Case(classifier(compiled, net), images(3, 3, 8))


@case
def stochastic_depth(compiled):
    """Blocks are left out at random while training."""

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.first = L.Linear(10, 16)
                self.blocks = chainer.ChainList(*[L.Linear(16, 16) for _ in range(5)])
                self.out = L.Linear(16, 5)

        @compiled
        def forward(self, x, t):
            h = F.relu(self.first(x))
            for k, block in enumerate(self.blocks):
                if not chainer.config.train:
                    h = h + F.relu(block(h)) * (1 - 0.1 * k)
                elif np.random.rand() > 0.1 * k:
                    h = h + F.relu(block(h))
            return F.softmax_cross_entropy(self.out(h), t)

    def batch(k):
        r = rng(k)
        return r.randn(16, 10).astype("f"), r.randint(0, 5, 16).astype("i")

    return Case(Net(), batch)


@case
def fcn_segmentation(compiled):
    class Fcn(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.c1 = L.Convolution2D(3, 8, 3, pad=1)
                self.c2 = L.Convolution2D(8, 12, 3, stride=2, pad=1)
                self.score1 = L.Convolution2D(8, 4, 1)
                self.score2 = L.Convolution2D(12, 4, 1)
                self.up = L.Deconvolution2D(4, 4, 4, stride=2, pad=1)

        @compiled
        def forward(self, x, t):
            h1 = F.relu(self.c1(x))
            h2 = F.relu(self.c2(h1))
            y = self.score1(h1) + self.up(self.score2(h2))[:, :, : x.shape[2], : x.shape[3]]
            loss = F.softmax_cross_entropy(y, t, normalize=False, ignore_label=-1)
            self.accuracy = F.accuracy(y, t, ignore_label=-1)
            return loss

    def batch(k):
        r = rng(k)
        t = r.randint(-1, 4, (2, 12, 12)).astype("i")
        return r.randn(2, 3, 12, 12).astype("f"), t

    return Case(Fcn(), batch)


@case
def segnet(compiled):
    """Pooling indices go to the decoder."""

    class SegNet(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.e1 = L.Convolution2D(3, 8, 3, pad=1)
                self.bn1 = L.BatchNormalization(8)
                self.d1 = L.Convolution2D(8, 4, 3, pad=1)

        @compiled
        def forward(self, x, t):
            h = F.relu(self.bn1(self.e1(x)))
            p, indices = F.max_pooling_2d(h, 2, return_indices=True)
            u = F.upsampling_2d(p, indices, 2, 2, outsize=h.shape[2:])
            return F.softmax_cross_entropy(self.d1(u), t)

    def batch(k):
        r = rng(k)
        return r.randn(2, 3, 10, 10).astype("f"), r.randint(0, 4, (2, 10, 10)).astype("i")

    return Case(SegNet(), batch)


@case
def unet_style(compiled):
    class UNet(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                for k, (n_in, n_out) in enumerate([(3, 6), (6, 12), (12, 12)]):
                    setattr(self, f"down{k}", L.Convolution2D(n_in, n_out, 4, 2, 1))
                for k, (n_in, n_out) in enumerate([(12, 12), (24, 6), (12, 3)]):
                    setattr(self, f"up{k}", L.Deconvolution2D(n_in, n_out, 4, 2, 1))

        @compiled
        def forward(self, x, t):
            hs, h = [], x
            for k in range(3):
                h = F.leaky_relu(self[f"down{k}"](h))
                hs.append(h)
            hs.pop()
            for k in range(3):
                h = F.relu(self[f"up{k}"](h))
                if hs:
                    h = F.concat([F.dropout(h), hs.pop()])
            return F.mean_absolute_error(F.tanh(h), t)

    def batch(k):
        r = rng(k)
        return r.randn(2, 3, 16, 16).astype("f"), np.tanh(r.randn(2, 3, 16, 16)).astype("f")

    return Case(UNet(), batch)


@case
def yolo_loss(compiled):
    """A detector on a grid; targets are built with NumPy from boxes and predictions."""

    class Yolo(chainer.Chain):
        def __init__(self):
            super().__init__()
            self.anchors = np.array([[1.0, 1.5], [2.0, 1.0]], "f")
            with self.init_scope():
                self.c1 = L.Convolution2D(3, 8, 3, stride=2, pad=1)
                self.c2 = L.Convolution2D(8, 2 * (5 + 3), 3, stride=2, pad=1)

        @compiled
        def forward(self, x, boxes, labels):
            h = self.c2(F.leaky_relu(self.c1(x), 0.1))
            b, _, gh, gw = h.shape
            xy, wh, conf, prob = F.split_axis(F.reshape(h, (b, 2, 8, gh, gw)), (2, 4, 5), axis=2)
            xy, conf = F.sigmoid(xy), F.sigmoid(conf)
            t_xy, t_wh = xy.array.copy(), np.zeros(wh.shape, "f")
            t_conf, weight = conf.array * 0, np.full(conf.shape, 0.1, "f")
            t_prob = np.full((b, 2, gh, gw), -1, "i")
            for n in range(b):
                for box, label in zip(boxes[n], labels[n], strict=True):
                    cx, cy = box[0] * gw, box[1] * gh
                    i, j = int(cx), int(cy)
                    a = int(np.argmin(np.abs(self.anchors - box[2:]).sum(axis=1)))
                    t_xy[n, a, :, j, i] = cx - i, cy - j
                    t_wh[n, a, :, j, i] = np.log(box[2:] / self.anchors[a])
                    t_conf[n, a, :, j, i], weight[n, a, :, j, i] = 1, 5
                    t_prob[n, a, j, i] = label
            loss = F.sum((xy - t_xy) ** 2) + 0.1 * F.sum((wh - t_wh) ** 2)
            loss += F.sum(weight * (conf - t_conf) ** 2)
            prob = F.reshape(F.transpose(prob, (0, 1, 3, 4, 2)), (-1, 3))
            return loss + F.softmax_cross_entropy(prob, t_prob.reshape(-1))

    def batch(k):
        r = rng(k)
        boxes = [r.uniform(0.1, 0.9, (r.randint(1, 4), 4)).astype("f") for _ in range(2)]
        labels = [r.randint(0, 3, len(found)).astype("i") for found in boxes]
        return r.randn(2, 3, 16, 16).astype("f"), boxes, labels

    return Case(Yolo(), batch)


@case
def ssd_multibox(compiled):
    """Hard negative mining by a rank over losses."""

    class Ssd(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.base = L.Convolution2D(3, 8, 3, stride=2, pad=1)
                self.more = L.Convolution2D(8, 8, 3, stride=2, pad=1)
                for k in range(2):
                    setattr(self, f"loc{k}", L.Convolution2D(8, 4 * 2, 3, pad=1))
                    setattr(self, f"conf{k}", L.Convolution2D(8, 4 * 2, 3, pad=1))

        @compiled
        def forward(self, x, t_loc, t_label):
            locs, confs, h = [], [], x
            for k, layer in enumerate((self.base, self.more)):
                h = F.relu(layer(h))
                for found, head in ((locs, self[f"loc{k}"]), (confs, self[f"conf{k}"])):
                    y = F.transpose(head(h), (0, 2, 3, 1))
                    found.append(F.reshape(y, (len(x), -1, 4)))
            loc, conf = F.concat(locs, axis=1), F.concat(confs, axis=1)
            t_loc, t_label = t_loc[:, : loc.shape[1]], t_label[:, : loc.shape[1]]
            positive = t_label > 0
            if not positive.any():
                return F.sum(loc) * 0
            l1 = F.sum(F.huber_loss(loc, t_loc, 1, reduce="no"), axis=-1)
            l1 = F.sum(l1 * positive.astype("f")) / positive.sum()
            flat = F.softmax_cross_entropy(
                F.reshape(conf, (-1, 4)), t_label.reshape(-1), reduce="no"
            )
            ce = F.reshape(flat, positive.shape)
            rank = (ce.array * (positive - 1)).argsort(axis=1).argsort(axis=1)
            negative = rank < (positive.sum(axis=1) * 3)[:, np.newaxis]
            chosen = np.logical_or(positive, negative).astype("f")
            return l1 + F.sum(ce * chosen) / positive.sum()

    def batch(k):
        r = rng(k)
        label = (r.rand(2, 200) > 0.9) * r.randint(1, 4, (2, 200))
        return r.randn(2, 3, 16, 16).astype("f"), r.randn(2, 200, 4).astype("f"), label.astype("i")

    return Case(Ssd(), batch)


@case
def roi_heads(compiled):
    """Region pooling and two heads, as in Fast R-CNN."""

    class Heads(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.conv = L.Convolution2D(3, 8, 3, pad=1)
                self.fc = L.Linear(8 * 9, 16)
                self.score, self.loc = L.Linear(16, 4), L.Linear(16, 16)

        @compiled
        def forward(self, x, rois, labels, t_loc):
            h = F.relu(self.conv(x))
            pooled = F.roi_pooling_2d(h, rois, 3, 3, 1.0)
            f = F.relu(self.fc(pooled))
            scores, locs = self.score(f), F.reshape(self.loc(f), (len(rois), 4, 4))
            chosen = locs[np.arange(len(rois)), labels]
            inside = (labels > 0).astype("f")[:, None]
            smooth = F.sum(F.huber_loss(chosen * inside, t_loc * inside, 1.0))
            return F.softmax_cross_entropy(scores, labels) + smooth / len(rois)

    def batch(k):
        r = rng(k)
        n = r.randint(3, 9)
        corner = r.randint(0, 6, (n, 2))
        rois = np.c_[r.randint(0, 2, n), corner, corner + r.randint(2, 6, (n, 2))].astype("f")
        return (
            r.randn(2, 3, 12, 12).astype("f"), rois,
            r.randint(0, 4, n).astype("i"), r.randn(n, 4).astype("f"),
        )  # fmt: skip

    return Case(Heads(), batch)


@case
def siamese(compiled):
    """Two images through one network, contrastive loss."""

    class Siamese(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.net = Mlp(32, 8)

        @compiled
        def forward(self, x0, x1, same):
            return F.contrastive(self.net(x0), self.net(x1), same, margin=1)

    def batch(k):
        r = rng(k)
        x0, x1 = r.randn(2, 12, 20).astype("f")
        return x0, x1, r.randint(0, 2, 12).astype("i")

    return Case(Siamese(), batch)


@case
def triplet_with_mining(compiled):
    """The hardest negative in the batch is picked with NumPy."""

    class Embedding(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.net = Mlp(32, 8)

        @compiled
        def forward(self, x, t):
            y = F.normalize(self.net(x))
            d = ((y.array[:, None] - y.array[None]) ** 2).sum(axis=2)
            same = t[:, None] == t[None]
            positive = np.where(same, d, -1).argmax(axis=1)
            negative = np.where(same, np.inf, d).argmin(axis=1)
            return F.triplet(y, y[positive], y[negative], margin=0.3)

    def batch(k):
        r = rng(k)
        return r.randn(12, 20).astype("f"), np.arange(12) % 3

    return Case(Embedding(), batch)


@case
def style_transfer(compiled):
    """Gram matrices of features against those of a style image; the image is trained."""

    class Style(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.c1 = L.Convolution2D(3, 6, 3, pad=1)
                self.c2 = L.Convolution2D(6, 8, 3, pad=1)
                self.image = chainer.Parameter(np.zeros((1, 3, 12, 12), "f"))

        def features(self, x):
            h1 = F.relu(self.c1(x))
            h2 = F.relu(self.c2(F.average_pooling_2d(h1, 2)))
            return [h1, h2]

        @staticmethod
        def gram(y):
            b, ch, h, w = y.shape
            f = F.reshape(y, (b, ch, w * h))
            return F.batch_matmul(f, f, transb=True) / np.float32(ch * w * h)

        @compiled
        def forward(self, style, content):
            with chainer.no_backprop_mode():
                targets = [self.gram(y) for y in self.features(style)]
                kept = self.features(content)
            found = self.features(self.image)
            loss = 1e-2 * F.mean_squared_error(found[1], kept[1])
            for y, t in zip(found, targets, strict=True):
                loss += F.mean_squared_error(self.gram(y), chainer.Variable(t.array))
            i = self.image
            tv = F.sum((i[:, :, 1:] - i[:, :, :-1]) ** 2) + F.sum((i[..., 1:] - i[..., :-1]) ** 2)
            return loss + 1e-4 * tv

    def batch(k):
        r = rng(k % 4)
        return r.randn(1, 3, 12, 12).astype("f"), r.randn(1, 3, 12, 12).astype("f")

    return Case(Style(), batch)


@case
def capsules(compiled):
    """Routing by agreement, in a loop."""

    class Caps(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.conv = L.Convolution2D(1, 8, 5, stride=2)
                self.w = chainer.Parameter(chainer.initializers.Normal(0.1), (5, 32, 4, 6))

        @staticmethod
        def squash(s, axis):
            norm = F.sum(s * s, axis=axis, keepdims=True)
            return s * F.broadcast_to(norm / (1 + norm) / F.sqrt(norm + 1e-8), s.shape)

        @compiled
        def forward(self, x, t):
            u = F.reshape(self.conv(x), (len(x), 2, 4, 16))
            u = self.squash(F.reshape(F.transpose(u, (0, 1, 3, 2)), (len(x), 32, 4)), 2)
            uhat = F.sum(
                F.broadcast_to(u[:, None, :, :, None], (len(x), 5, 32, 4, 6))
                * F.broadcast_to(self.w[None], (len(x), 5, 32, 4, 6)),
                axis=3,
            )
            b = np.zeros((len(x), 5, 32), "f")
            for _ in range(3):
                c = F.softmax(b, axis=1)
                v = self.squash(F.sum(uhat * F.broadcast_to(c[..., None], uhat.shape), axis=2), 2)
                b = b + F.sum(uhat * F.broadcast_to(v[:, :, None], uhat.shape), axis=3)
            length = F.sqrt(F.sum(v * v, axis=2) + 1e-8)
            onehot = np.eye(5, dtype="f")[t]
            left, right = F.relu(0.9 - length) ** 2, F.relu(length - 0.1) ** 2
            return F.sum(onehot * left + 0.5 * (1 - onehot) * right) / len(x)

    return Case(Caps(), images(3, 1, 11))


@case
def spatial_transformer(compiled):
    class Stn(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.loc = L.Linear(144, 6, initialW=0.01, initial_bias=np.eye(2, 3).ravel())
                self.conv = L.Convolution2D(1, 6, 3)
                self.fc = L.Linear(None, 5)

        @compiled
        def forward(self, x, t):
            theta = F.reshape(self.loc(x), (-1, 2, 3))
            grid = F.spatial_transformer_grid(theta, (12, 12))
            y = F.spatial_transformer_sampler(x, grid)
            return F.softmax_cross_entropy(self.fc(F.relu(self.conv(y))), t)

    return Case(Stn(), images(3, 1, 12))


@case
def multi_scale_inputs(compiled):
    """Training at sizes that change from batch to batch."""

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.c1, self.c2 = L.Convolution2D(3, 8, 3, pad=1), L.Convolution2D(8, 8, 3, pad=1)
                self.out = L.Linear(8 * 5, 5)

        @compiled
        def forward(self, x, t):
            h = F.max_pooling_2d(F.relu(self.c1(x)), 2)
            h = F.spatial_pyramid_pooling_2d(F.relu(self.c2(h)), 2, pooling="max")
            return F.softmax_cross_entropy(self.out(F.reshape(h, (len(x), -1))), t)

    def batch(k):
        size = [12, 16, 20][rng(k).randint(3)]
        return images(2, 3, size)(k)

    return Case(Net(), batch)
