"""Models inside other packages, where these are installed: chainercv, chainerrl, chainer-chemistry,
einops and chainer_computational_cost.

None of them is a requirement. ``benchmarks/try_packages.py`` makes an environment that has them.
chainercv's one compiled file serves GPUs alone; an empty module takes its place.
"""

import importlib.util
import sys
import types

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L

from .case import Case, case, rng


def package_case(package):
    """Register a case where ``package`` is installed."""
    found = importlib.util.find_spec(package.partition(".")[0])
    return case if found and importlib.util.find_spec(package) else (lambda make: make)


def with_compiled(compiled, cls, *args, **kwargs):
    """An object of a class of the package, with its outermost method compiled."""
    name = "forward" if any("forward" in c.__dict__ for c in _own(cls)) else "__call__"
    return type(cls.__name__, (cls,), {name: compiled(getattr(cls, name))})(*args, **kwargs)


def _own(cls):
    return [c for c in cls.__mro__ if not c.__module__.startswith("chainer.")]


def weighted(values):
    """A number that depends on all of a result's elements."""
    weights = np.linspace(-1, 1, values.size, dtype="f").reshape(values.shape)
    return F.sum(values * weights) / len(values)


def through(model, forward):
    """A step that takes the loss from what ``forward`` makes of the model's result."""

    def step(*arguments):
        model.cleargrads()
        loss = forward(*arguments)
        loss.backward()
        return loss

    return step


# -- chainercv ------

chainercv = package_case("chainercv")


def _cv():
    name = "chainercv.utils.bbox._nms_gpu_post"
    if name not in sys.modules:
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name]._nms_gpu_post = None
    import chainercv.links

    return chainercv


def _pictures(size, n=1, channels=3, classes=5):
    def batch(k):
        r = rng(k)
        x = r.randn(n, channels, *(size if isinstance(size, tuple) else (size, size)))
        return x.astype("f"), r.randint(0, classes, n).astype("i")

    return batch


def _predicts(model, size, n=1):
    def forward(x, t):
        return F.softmax_cross_entropy(model(x), t)

    return Case(model, _pictures(size, n), through(model, forward))


@chainercv
def large_chainercv_resnet50(compiled):
    """Its ResNet at a small size, up to the scores."""
    net = _cv().links.ResNet50(n_class=5, arch="he")
    net.pick = "fc6"
    net.__class__ = type("Net", (type(net),), {"forward": compiled(type(net).forward)})
    return _predicts(net, 64, 2)


@chainercv
def large_chainercv_se_resnet50(compiled):
    net = _cv().links.SEResNet50(n_class=5)
    net.pick = "fc6"
    net.__class__ = type("Net", (type(net),), {"forward": compiled(type(net).forward)})
    return _predicts(net, 64, 2)


@chainercv
def chainercv_resblock(compiled):
    _cv()
    from chainercv.links.model.resnet import ResBlock

    block = with_compiled(compiled, ResBlock, 2, 8, 4, 16, 2)
    whole = chainer.Sequential(L.Convolution2D(3, 8, 3, pad=1), block, F.relu, L.Linear(None, 5))
    return _predicts(whole, 12, 2)


@chainercv
def chainercv_segnet(compiled):
    _cv()
    from chainercv.links import PixelwiseSoftmaxClassifier, SegNetBasic

    net = with_compiled(compiled, SegNetBasic, n_class=4)
    model = PixelwiseSoftmaxClassifier(net)

    def batch(k):
        r = rng(k)
        return r.randn(1, 3, 32, 32).astype("f"), r.randint(-1, 4, (1, 32, 32)).astype("i")

    return Case(model, batch)


@chainercv
def chainercv_multibox(compiled):
    """The head of SSD and its loss with hard negatives."""
    _cv()
    from chainercv.links.model.ssd import Multibox, multibox_loss

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.c1 = L.Convolution2D(3, 8, 3, 2, 1)
                self.c2 = L.Convolution2D(8, 8, 3, 2, 1)
                self.box = Multibox(4, ((2,), (2, 3)))

        @compiled
        def forward(self, x, t_loc, t_label):
            h1 = F.relu(self.c1(x))
            loc, conf = self.box([h1, F.relu(self.c2(h1))])
            n = loc.shape[1]
            loc_loss, conf_loss = multibox_loss(loc, conf, t_loc[:, :n], t_label[:, :n], 3)
            chainer.report({"loc": loc_loss, "conf": conf_loss}, self)
            return loc_loss + conf_loss

    def batch(k):
        r = rng(k)
        label = (r.rand(2, 400) > 0.9) * r.randint(1, 4, (2, 400))
        return r.randn(2, 3, 16, 16).astype("f"), r.randn(2, 400, 4).astype("f"), label.astype("i")

    return Case(Net(), batch)


@chainercv
def chainercv_faster_rcnn_train(compiled):
    """The training chain of Faster R-CNN: proposals, targets and heads, on a small extractor."""
    _cv()
    from chainercv.links.model.faster_rcnn import (
        FasterRCNN,
        FasterRCNNTrainChain,
        RegionProposalNetwork,
    )

    class Head(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.fc = L.Linear(8 * 9, 16)
                self.loc, self.score = L.Linear(16, 16), L.Linear(16, 4)

        def forward(self, x, rois, indices):
            boxes = np.concatenate((indices[:, None], rois), axis=1)[:, [0, 2, 1, 4, 3]]
            pooled = F.roi_pooling_2d(x, boxes.astype("f"), 3, 3, 1 / 4)
            h = F.relu(self.fc(pooled))
            return self.loc(h), self.score(h)

    extractor = chainer.Sequential(
        L.Convolution2D(3, 8, 3, 2, 1), F.relu, L.Convolution2D(8, 8, 3, 2, 1), F.relu
    )
    rpn = RegionProposalNetwork(8, 8, anchor_scales=[2, 4], feat_stride=4)
    net = FasterRCNN(extractor, rpn, Head(), np.zeros((3, 1, 1), "f"), 32, 64)
    model = with_compiled(compiled, FasterRCNNTrainChain, net)

    def batch(k):
        r = rng(k)
        corner = r.randint(0, 16, (1, 2, 2))
        boxes = np.concatenate([corner, corner + r.randint(6, 14, (1, 2, 2))], axis=2)
        image = r.randn(1, 3, 32, 32).astype("f")
        return image, boxes.astype("f"), r.randint(0, 3, (1, 2)).astype("i"), np.array([1.0])

    return Case(model, batch)


@chainercv
def chainercv_fpn(compiled):
    _cv()
    from chainercv.links.model.fpn import FPN

    class Base(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.c1 = L.Convolution2D(3, 6, 3, 2, 1)
                self.c2 = L.Convolution2D(6, 8, 3, 2, 1)

        def forward(self, x):
            h = F.relu(self.c1(x))
            return h, F.relu(self.c2(h))

    net = with_compiled(compiled, FPN, Base(), 2, (1 / 2, 1 / 4))

    def forward(x, _):
        return sum(weighted(h) for h in net(x))

    return Case(net, _pictures(16), through(net, forward))


# -- chainerrl ------

chainerrl = package_case("chainerrl")


def _observations(actions=3):
    def batch(k):
        r = rng(k)
        return r.randn(8, 6).astype("f"), r.randint(0, actions, 8).astype("i")

    return batch


@chainerrl
def chainerrl_q_function(compiled):
    """It returns an object with the values of all actions."""
    from chainerrl.q_functions import FCStateQFunctionWithDiscreteAction as Q

    model = with_compiled(compiled, Q, 6, 3, 16, 2)

    def forward(x, a):
        y = model(x)
        return F.sum(y.evaluate_actions(a)) + F.sum(y.max)

    return Case(model, _observations(), through(model, forward))


@chainerrl
def chainerrl_quadratic(compiled):
    from chainerrl.q_functions import FCQuadraticStateQFunction as Q

    low, high = np.array([-1, -1], "f"), np.array([1, 1], "f")
    space = types.SimpleNamespace(low=low, high=high)
    model = with_compiled(compiled, Q, 6, 2, 16, 2, space)

    def forward(x, a):
        y = model(x)
        return F.sum(y.evaluate_actions(np.tanh(x[:, :2]))) + F.sum(y.max)

    return Case(model, _observations(), through(model, forward))


@chainerrl
def chainerrl_distributional(compiled):
    from chainerrl.q_functions import DistributionalFCStateQFunctionWithDiscreteAction as Q

    model = with_compiled(compiled, Q, 6, 3, 11, -2, 2, 16, 2)

    def forward(x, a):
        y = model(x)
        return weighted(y.evaluate_actions_as_distribution(a)) + F.sum(y.max)

    return Case(model, _observations(), through(model, forward))


@chainerrl
def chainerrl_dueling(compiled):
    """For screens of 84 by 84."""
    from chainerrl.q_functions import DuelingDQN

    model = with_compiled(compiled, DuelingDQN, 3)

    def forward(x, a):
        return F.sum(model(x).evaluate_actions(a[:1]))

    def batch(k):
        return rng(k).randn(1, 4, 84, 84).astype("f"), rng(k).randint(0, 3, 1).astype("i")

    return Case(model, batch, through(model, forward))


@chainerrl
def chainerrl_gaussian_policy(compiled):
    """It returns a distribution of the package."""
    from chainerrl.policies import FCGaussianPolicy as Policy

    model = with_compiled(compiled, Policy, 6, 2, 2, 16, var_type="diagonal")

    def forward(x, a):
        p = model(x)
        sample = p.sample().array
        return F.sum(p.log_prob(sample)) + F.sum(p.entropy) * 0.01

    return Case(model, _observations(), through(model, forward))


@chainerrl
def chainerrl_softmax_policy(compiled):
    from chainerrl.policies import FCSoftmaxPolicy as Policy

    model = with_compiled(compiled, Policy, 6, 3, 2, 16)

    def forward(x, a):
        p = model(x)
        return F.sum(p.log_prob(a)) + 0.01 * F.sum(p.entropy) + F.sum(p.kl(model(x * 0.5)))

    return Case(model, _observations(), through(model, forward))


@chainerrl
def chainerrl_mellowmax_policy(compiled):
    """A temperature found by a root search for each row."""
    from chainerrl.policies import MellowmaxPolicy as Policy

    inner = chainer.Sequential(L.Linear(6, 16), F.tanh, L.Linear(16, 3))
    model = with_compiled(compiled, Policy, inner)

    def forward(x, a):
        return F.sum(model(x).log_prob(a))

    return Case(model, _observations(), through(model, forward))


@chainerrl
def chainerrl_lstm_q(compiled):
    """State in an LSTM, five steps before one backward."""
    from chainerrl.q_functions import FCLSTMStateQFunction as Q

    model = with_compiled(compiled, Q, 6, 3, 12, 1)

    def forward(x, a):
        model.reset_state()
        return sum(F.sum(model(x * s).evaluate_actions(a)) for s in (1.0, 0.5, 2.0, 0.1, 1.5))

    return Case(model, _observations(), through(model, forward))


@chainerrl
def chainerrl_late_action(compiled):
    from chainerrl.q_functions import FCBNLateActionSAQFunction as Q

    model = with_compiled(compiled, Q, 6, 2, 16, 2)

    def forward(x, a):
        return F.sum(model(x, np.tanh(x[:, :2])) ** 2)

    return Case(model, _observations(), through(model, forward))


@chainerrl
def chainerrl_noisy(compiled):
    """Layers whose noise is drawn in each call."""
    from chainerrl.links import FactorizedNoisyLinear, to_factorized_noisy

    inner = chainer.Sequential(L.Linear(6, 16), F.relu, L.Linear(16, 3))
    to_factorized_noisy(inner)
    assert any(isinstance(link, FactorizedNoisyLinear) for link in inner.links())

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.inner = inner

        @compiled
        def forward(self, x, a):
            return F.sum(F.select_item(self.inner(x), a))

    return Case(Net(), _observations())


@chainerrl
def chainerrl_iqn(compiled):
    """Implicit quantiles: it returns a function."""
    from chainerrl.agents import iqn

    psi = chainer.Sequential(L.Linear(6, 12), F.relu)
    phi = chainer.Sequential(iqn.CosineBasisLinear(8, 12), F.relu)
    model = with_compiled(compiled, iqn.ImplicitQuantileQFunction, psi, phi, L.Linear(12, 3))

    def forward(x, a):
        y = model(x)(np.random.rand(len(x), 4).astype("f"))
        return weighted(y.evaluate_actions_as_quantiles(a)) + F.sum(y.max)

    return Case(model, _observations(), through(model, forward))


# -- chainer-chemistry ------

chemistry = package_case("chainer_chemistry")


def _graphs(edges=4, fixed=7):
    def batch(k):
        r = rng(k)
        n = fixed or r.randint(4, 9)
        adjacency = (r.rand(3, n, n) < 0.4).astype("f")
        if edges:
            adjacency = (r.rand(3, edges, n, n) < 0.3).astype("f")
        return r.randint(1, 9, (3, n)).astype("i"), adjacency

    return batch


def _graph_case(compiled, name, *args, edges=4, fixed=7, **kwargs):
    from chainer_chemistry import models

    model = with_compiled(compiled, getattr(models, name), *args, **kwargs)

    def forward(atoms, adjacency):
        return weighted(model(atoms, adjacency))

    return Case(model, _graphs(edges, fixed), through(model, forward))


@chemistry
def chemistry_ggnn(compiled):
    return _graph_case(compiled, "GGNN", 4, n_atom_types=10, n_update_layers=2)


@chemistry
def chemistry_ggnn_sizes(compiled):
    """Graphs whose size changes from batch to batch."""
    return _graph_case(compiled, "GGNN", 4, n_atom_types=10, n_update_layers=2, fixed=None)


@chemistry
def chemistry_nfp(compiled):
    return _graph_case(compiled, "NFP", 4, n_atom_types=10, n_update_layers=2, edges=0)


@chemistry
def chemistry_rsgcn(compiled):
    return _graph_case(compiled, "RSGCN", 4, n_atom_types=10, n_update_layers=2, edges=0)


@chemistry
def chemistry_relgat(compiled):
    return _graph_case(compiled, "RelGAT", 4, n_atom_types=10, n_update_layers=2)


@chemistry
def chemistry_relgcn(compiled):
    return _graph_case(compiled, "RelGCN", 4, n_atom_types=10)


@chemistry
def chemistry_mpnn(compiled):
    return _graph_case(compiled, "MPNN", 4, n_atom_types=10, n_update_layers=2, hidden_channels=8)


@chemistry
def chemistry_gin(compiled):
    return _graph_case(compiled, "GIN", 4, n_atom_types=10, n_update_layers=2, edges=0)


@chemistry
def chemistry_film(compiled):
    return _graph_case(compiled, "GNNFiLM", 4, n_atom_types=10, n_update_layers=2, n_edge_types=4)


@chemistry
def chemistry_schnet(compiled):
    return _graph_case(
        compiled, "SchNet", 4, n_atom_types=10, n_update_layers=2, hidden_channels=8,
        num_rbf=20, edges=0,
    )  # fmt: skip


@chemistry
def chemistry_weave(compiled):
    from chainer_chemistry.models import WeaveNet

    model = with_compiled(
        compiled, WeaveNet, weave_channels=[8], hidden_dim=4, n_atom=6, n_atom_types=10
    )

    def batch(k):
        r = rng(k)
        return r.randint(1, 9, (3, 6)).astype("i"), r.randn(3, 36, 5).astype("f")

    return Case(model, batch, through(model, lambda a, p: weighted(model(a, p))))


@chemistry
def chemistry_attention_readout(compiled):
    """A predictor: readout by set2set over a graph network, and a loss."""
    from chainer_chemistry.models import GGNN
    from chainer_chemistry.models.prediction import GraphConvPredictor

    model = with_compiled(
        compiled, GraphConvPredictor, GGNN(8, n_atom_types=10, n_update_layers=2), L.Linear(8, 1)
    )

    def forward(atoms, adjacency):
        return F.mean_absolute_error(model(atoms, adjacency), np.ones((3, 1), "f"))

    return Case(model, _graphs(), through(model, forward))


# -- einops ------

einops = package_case("einops.layers.chainer")


@einops
def einops_layers(compiled):
    """Patches of images by its layers, and heads of attention by its functions."""
    from einops import rearrange, reduce
    from einops.layers import chainer as layers

    Mix = getattr(layers, "EinMix", None) or layers.WeightedEinsum  # its name until 0.3

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.patches = layers.Rearrange("b c (h p) (w q) -> (b h w) (c p q)", p=4, q=4)
                self.embed = L.Linear(48, 12)
                self.mix = Mix("n c -> n d", weight_shape="c d", c=12, d=12)
                self.pool = layers.Reduce("b n c -> b c", "max")
                self.head = L.Linear(12, 5)

        @compiled
        def forward(self, x, t):
            h = self.mix(F.relu(self.embed(self.patches(x))))
            q = rearrange(h, "(b n) (heads d) -> b heads n d", b=len(x), heads=3)
            weights = F.softmax(F.matmul(q, q, transb=True), axis=3)
            h = rearrange(F.matmul(weights, q), "b heads n d -> b n (heads d)")
            y = self.head(self.pool(h)) + self.head(reduce(h, "b n c -> b c", "mean"))
            return F.softmax_cross_entropy(y, t)

    return Case(Net(), _pictures(16, 3))


# -- chainer_computational_cost ------

cost = package_case("chainer_computational_cost")


@cost
def cost_of_convolutions(compiled):
    """Its function hook counts operations and bytes while a network runs forward."""
    from chainer_computational_cost import ComputationalCostHook

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.c1, self.bn = L.Convolution2D(3, 8, 3, pad=1), L.BatchNormalization(8)
                self.c2 = L.Convolution2D(8, 8, 3, pad=1, groups=2)
                self.head = L.Linear(None, 5)

        @compiled
        def forward(self, x, t):
            h = F.max_pooling_2d(F.relu(self.bn(self.c1(x))), 2)
            h = F.concat([F.sigmoid(self.c2(h)), F.average_pooling_2d(h, 3, 1, 1)])
            h = F.unpooling_2d(F.resize_images(h, (4, 4)), 2, outsize=(8, 8))
            return F.softmax_cross_entropy(self.head(F.dropout(h)), t)

    model = Net()

    def step(x, t):
        model.cleargrads()
        with ComputationalCostHook(fma_1flop=True) as hook:
            loss = model(x, t)
        loss.backward()
        total = hook.total_report
        return loss, np.array([total["flops"], total["mread"], total["mwrite"], total["mrw"]])

    return Case(model, _pictures(8, 3), step)
