"""Functions that retain views of arrays into which is written between a call and its backward."""

import numpy as np

import chainer
import chainer.functions as F

VIEWS = {
    "transpose": F.transpose, "reversed": lambda v: v[::-1], "rows": lambda v: v[1:],
    "reshape": lambda v: F.reshape(v, (9,)), "squeeze": lambda v: F.squeeze(F.expand_dims(v, 0)),
    "split_axis": lambda v: F.split_axis(v, 3, 1)[1], "separate": lambda v: F.separate(v)[2],
    "broadcast_to": lambda v: F.broadcast_to(v[0], (3, 3)), "identity": F.identity,
    "dropout": lambda v: F.dropout(v, 0.0), "cast": lambda v: F.cast(v, "f"),
    "as_strided": lambda v: F.as_strided(v, (3, 3), (1, 3)),
}
WRITTEN = {"argument": lambda x: x, "result": lambda x: x * 2, "retained result": F.relu}


def pair(view, written):
    """A chain with the decorator and one without."""

    class Model(chainer.Chain):
        def forward(self, x):
            h = WRITTEN[written](x)
            return h, VIEWS[view](h) ** 3

    class Compiled(Model):
        forward = chainer.static_graph(Model.forward)

    return Compiled(), Model()


def gradients(model, xp=np, seed=None):
    """Bytes of gradients and results over ten calls with several kinds of backward.

    When arrays are written into, and which kind of backward comes, is drawn where there is a seed.
    """
    rng, found = np.random.RandomState(seed), []
    for k in range(10):
        x = chainer.Variable(xp.asarray(np.random.RandomState(k).randn(3, 3).astype("f")))
        kind = ("plain" if k < 2 else KINDS[rng.randint(len(KINDS))]) if seed is not None else (
            "twice" if k in (4, 8, 9) else "retained" if k == 2 else "plain")
        h, y = model(x)
        if k in (3, 4, 7, 8, 9) if seed is None else rng.rand() < 0.6:
            h.array[...] = h.array * 0.5 + 0.1
        loss = F.sum(y * y)
        if kind == "twice":
            loss += F.sum(model(x)[1])
        elif kind == "all results":
            loss += F.sum(h * h)
        elif kind == "double":
            (g,) = chainer.grad([loss], [x], enable_double_backprop=True)
            loss = F.sum(g * g)
        loss.backward(retain_grad=kind == "retained")
        found.append((x.grad.tobytes(), h.array.tobytes()))
    return found


KINDS = ("plain", "twice", "retained", "double", "all results")
