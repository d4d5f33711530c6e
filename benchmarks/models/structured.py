"""Trees, graphs, sets."""

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L

from .case import Case, case, rng


def tree(r, words):
    """A random binary tree over words, with a label at each node."""
    if len(words) == 1:
        return {"label": int(r.randint(3)), "node": int(words[0])}
    cut = r.randint(1, len(words))
    return {
        "label": int(r.randint(3)),
        "node": (tree(r, words[:cut]), tree(r, words[cut:])),
    }


def trees(k, n=3, longest=7):
    r = rng(k)
    return ([tree(r, r.randint(0, 20, r.randint(2, longest))) for _ in range(n)],)


@case
def recursive_network(compiled):
    """Bottom up by recursion; the loss is summed on the way."""

    class Rnn(chainer.Chain):
        def __init__(self, units=10):
            super().__init__()
            with self.init_scope():
                self.embed, self.l = L.EmbedID(20, units), L.Linear(2 * units, units)
                self.w = L.Linear(units, 3)

        def traverse(self, node):
            if isinstance(node["node"], int):
                v, loss = self.embed(np.array([node["node"]], "i")), 0
            else:
                (left, a), (right, b) = (self.traverse(child) for child in node["node"])
                v, loss = F.tanh(self.l(F.concat((left, right)))), a + b
            t = np.array([node["label"]], "i")
            return v, loss + F.softmax_cross_entropy(self.w(v), t)

        @compiled
        def forward(self, batch):
            return sum(self.traverse(t)[1] for t in batch)

    return Case(Rnn(), trees)


@case
def tree_lstm(compiled):
    class Model(chainer.Chain):
        def __init__(self, units=8):
            super().__init__()
            with self.init_scope():
                self.embed, self.cell = L.EmbedID(20, units), L.ChildSumTreeLSTM(units, units)
                self.out = L.Linear(units, 3)

        def traverse(self, node, count):
            count["nodes"] += 1
            if isinstance(node["node"], int):
                x = self.embed(np.array([node["node"]], "i"))
                return self.cell(None, None, None, None, x)
            (c1, h1), (c2, h2) = (self.traverse(n, count) for n in node["node"])
            return self.cell(c1, c2, h1, h2, None)

        @compiled
        def forward(self, batch):
            count, loss = {"nodes": 0}, 0
            for t in batch:
                _, h = self.traverse(t, count)
                loss += F.softmax_cross_entropy(self.out(h), np.array([t["label"]], "i"))
            self.nodes = count["nodes"]
            return loss

    return Case(Model(), trees)


@case
def thin_stack(compiled):
    """Shift and reduce over a stack for a whole batch of trees."""

    class Spinn(chainer.Chain):
        def __init__(self, units=8):
            super().__init__()
            with self.init_scope():
                self.embed, self.reduce = L.EmbedID(20, units), L.Linear(2 * units, units)
                self.out = L.Linear(units, 3)

        @compiled
        def forward(self, words, moves, t):
            n = len(words)
            stacks = [[] for _ in range(n)]
            queues = [[*F.separate(self.embed(w))][::-1] for w in words]
            for now in moves.T:
                left, right, where = [], [], []
                for k, move in enumerate(now):
                    if move == 0:
                        stacks[k].append(queues[k].pop())
                    else:
                        right.append(stacks[k].pop())
                        left.append(stacks[k].pop())
                        where.append(k)
                if where:
                    h = F.concat([F.stack(left), F.stack(right)])
                    for k, v in zip(where, F.separate(F.tanh(self.reduce(h))), strict=True):
                        stacks[k].append(v)
            y = self.out(F.stack([s[-1] for s in stacks]))
            return F.softmax_cross_entropy(y, t)

    def batch(k):
        r = rng(k)
        moves = []
        for _ in range(4):
            depth, row, shifts = 0, [], 4
            while shifts or depth > 1:
                reduce = depth > 1 and (not shifts or r.rand() < 0.5)
                row.append(int(reduce))
                shifts, depth = (shifts, depth - 1) if reduce else (shifts - 1, depth + 1)
            moves.append(row)
        words = r.randint(0, 20, (4, 4)).astype("i")
        return words, np.array(moves), r.randint(0, 3, 4).astype("i")

    return Case(Spinn(), batch)


def molecules(k, n=4, longest=8, fixed=None):
    """Atoms, adjacency and a number for each, padded."""
    r = rng(k)
    size = fixed or r.randint(4, longest)
    atoms = r.randint(0, 6, (n, size)).astype("i")
    adjacency = (r.rand(n, 2, size, size) < 0.4).astype("f")
    return atoms, adjacency, r.randn(n, 1).astype("f")


@case
def gated_graph_network(compiled):
    """Messages by edge type, a GRU, and a gated readout."""

    class Ggnn(chainer.Chain):
        def __init__(self, units=8, steps=3):
            super().__init__()
            self.steps, self.units = steps, units
            with self.init_scope():
                self.embed, self.message = L.EmbedID(6, units), L.Linear(units, 2 * units)
                self.update = L.StatelessGRU(units, units)
                self.i, self.j, self.out = L.Linear(units), L.Linear(units), L.Linear(units, 1)

        @compiled
        def forward(self, atoms, adjacency, t):
            h = self.embed(atoms)
            b, n, u = h.shape
            for _ in range(self.steps):
                m = F.reshape(self.message(F.reshape(h, (b * n, u))), (b, n, u, 2))
                m = F.transpose(m, (0, 3, 1, 2))
                m = F.sum(F.matmul(adjacency, m), axis=1)
                h = self.update(F.reshape(h, (b * n, u)), F.reshape(m, (b * n, u)))
                h = F.reshape(h, (b, n, u))
            flat = F.reshape(h, (b * n, u))
            g = F.sigmoid(self.i(flat)) * F.tanh(self.j(flat))
            y = self.out(F.sum(F.reshape(g, (b, n, u)), axis=1))
            return F.mean_absolute_error(y, t)

    return Case(Ggnn(), lambda k: molecules(k, fixed=6))


@case
def graph_convolution(compiled):
    """Normalized adjacency by NumPy in the method, graphs of different sizes."""

    class Gcn(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.embed, self.l1, self.l2 = L.EmbedID(6, 8), L.Linear(8, 8), L.Linear(8, 1)

        @compiled
        def forward(self, atoms, adjacency, t):
            a = adjacency.max(axis=1)
            a = np.maximum(a, a.transpose(0, 2, 1)) + np.eye(a.shape[1], dtype="f")
            d = 1 / np.sqrt(a.sum(axis=2))
            a = d[:, :, None] * a * d[:, None]
            h = self.embed(atoms)
            b, n, u = h.shape
            h = F.relu(F.reshape(self.l1(F.reshape(F.matmul(a, h), (b * n, u))), (b, n, u)))
            return F.mean_squared_error(self.l2(F.mean(F.matmul(a, h), axis=1)), t)

    return Case(Gcn(), molecules)


@case
def graph_attention(compiled):
    class Gat(chainer.Chain):
        def __init__(self, heads=2, units=6):
            super().__init__()
            with self.init_scope():
                self.embed = L.EmbedID(6, units)
                self.w = chainer.ChainList(*[L.Linear(units, units) for _ in range(heads)])
                self.a = chainer.ChainList(*[L.Linear(2 * units, 1) for _ in range(heads)])
                self.out = L.Linear(heads * units, 1)

        @compiled
        def forward(self, atoms, adjacency, t):
            h = self.embed(atoms)
            b, n, u = h.shape
            mask = adjacency.max(axis=1) + np.eye(n, dtype="f") > 0
            found = []
            for w, a in zip(self.w, self.a, strict=True):
                g = F.reshape(w(F.reshape(h, (-1, u))), (b, n, u))
                one = F.broadcast_to(g[:, :, None], (b, n, n, u))
                two = F.broadcast_to(g[:, None], (b, n, n, u))
                e = a(F.reshape(F.concat([one, two], axis=3), (-1, 2 * u)))
                e = F.leaky_relu(F.reshape(e, (b, n, n)))
                e = F.where(mask, e, np.full(e.shape, -1e9, "f"))
                weight = F.dropout(F.softmax(e, axis=2), 0.1)
                found.append(F.elu(F.matmul(weight, g)))
            y = self.out(F.mean(F.concat(found, axis=2), axis=1))
            return F.mean_squared_error(y, t)

    return Case(Gat(), lambda k: molecules(k, fixed=6))


@case
def message_passing_by_edges(compiled):
    """Edges in a list of pairs, sums by scatter."""

    class Mpnn(chainer.Chain):
        def __init__(self, units=8):
            super().__init__()
            with self.init_scope():
                self.embed = L.EmbedID(6, units)
                self.edge, self.node = L.Linear(2 * units, units), L.Linear(2 * units, units)
                self.out = L.Linear(units, 1)

        @compiled
        def forward(self, atoms, source, target, graph, t):
            h = self.embed(atoms)
            for _ in range(2):
                m = F.relu(self.edge(F.concat([h[source], h[target]])))
                zero = chainer.Variable(np.zeros(h.shape, "f"))
                h = F.relu(self.node(F.concat([h, F.scatter_add(zero, target, m)])))
            zero = chainer.Variable(np.zeros((len(t), h.shape[1]), "f"))
            return F.mean_squared_error(self.out(F.scatter_add(zero, graph, h)), t)

    def batch(k):
        r = rng(k)
        n, e = r.randint(8, 14), r.randint(12, 30)
        pairs = r.randint(0, n, (2, e))
        graph = np.sort(r.randint(0, 3, n))
        return r.randint(0, 6, n).astype("i"), *pairs, graph, r.randn(3, 1).astype("f")

    return Case(Mpnn(), batch)


@case
def deep_sets(compiled):
    """Sets of different sizes, each through the network on its own."""

    class Sets(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.phi, self.rho = L.Linear(3, 12), L.Linear(12, 4)

        @compiled
        def forward(self, sets, t):
            hs = [F.sum(F.relu(self.phi(s)), axis=0) for s in sets]
            return F.softmax_cross_entropy(self.rho(F.stack(hs)), t)

    def batch(k):
        r = rng(k)
        sets = [r.randn(r.randint(1, 7), 3).astype("f") for _ in range(5)]
        return sets, r.randint(0, 4, 5).astype("i")

    return Case(Sets(), batch)


@case
def pointnet(compiled):
    class PointNet(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.t = L.Linear(None, 9, initialW=0.01)
                self.c1, self.c2 = L.Convolution1D(3, 8, 1), L.Convolution1D(8, 16, 1)
                self.bn1, self.bn2 = L.BatchNormalization(8), L.BatchNormalization(16)
                self.out = L.Linear(16, 4)

        @compiled
        def forward(self, x, t):
            turn = F.reshape(self.t(F.max(x, axis=2)), (-1, 3, 3))
            turn = turn + np.broadcast_to(np.eye(3, dtype="f"), turn.shape)
            h = F.matmul(turn, x)
            h = F.relu(self.bn1(self.c1(h)))
            h = F.max(F.relu(self.bn2(self.c2(h))), axis=2)
            identity = np.broadcast_to(np.eye(3, dtype="f"), turn.shape)
            orthogonal = F.mean((F.matmul(turn, turn, transb=True) - identity) ** 2)
            return F.softmax_cross_entropy(self.out(F.dropout(h)), t) + 1e-3 * orthogonal

    def batch(k):
        r = rng(k)
        return r.randn(4, 3, 16).astype("f"), r.randint(0, 4, 4).astype("i")

    return Case(PointNet(), batch)


@case
def relation_network(compiled):
    """All pairs of objects."""

    class Rn(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.g, self.f = L.Linear(2 * 5 + 3, 16), L.Linear(16, 4)

        @compiled
        def forward(self, objects, question, t):
            b, n, d = objects.shape
            pairs = []
            for i in range(n):
                for j in range(i + 1, n):
                    pair = F.concat([objects[:, i], objects[:, j], question])
                    pairs.append(F.relu(self.g(pair)))
            return F.softmax_cross_entropy(self.f(sum(pairs)), t)

    def batch(k):
        r = rng(k)
        question, t = r.randn(6, 3).astype("f"), r.randint(0, 4, 6).astype("i")
        return r.randn(6, 5, 5).astype("f"), question, t

    return Case(Rn(), batch)
