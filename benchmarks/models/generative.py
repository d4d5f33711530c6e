"""Generative models: adversarial, variational, autoregressive, flows."""

import numpy as np

import chainer
import chainer.distributions as D
import chainer.functions as F
import chainer.links as L

from .case import Case, case, images, rng


class Generator(chainer.Chain):
    def __init__(self, n=8, ch=8):
        super().__init__()
        with self.init_scope():
            self.l0 = L.Linear(n, 4 * 4 * ch)
            self.bn0 = L.BatchNormalization(4 * 4 * ch)
            self.dc1 = L.Deconvolution2D(ch, ch, 4, 2, 1)
            self.bn1 = L.BatchNormalization(ch)
            self.dc2 = L.Deconvolution2D(ch, 3, 3, 1, 1)

    def forward(self, z):
        h = F.reshape(F.relu(self.bn0(self.l0(z))), (len(z), -1, 4, 4))
        h = F.relu(self.bn1(self.dc1(h)))
        return F.tanh(self.dc2(h))


def _noisy(h, sigma=0.2):
    """Noise by NumPy between layers, while training only."""
    if not chainer.config.train:
        return h
    xp = chainer.backend.get_array_module(h.array)
    return h + sigma * xp.random.randn(*h.shape).astype(h.dtype)


class Discriminator(chainer.Chain):
    def __init__(self, ch=8, noisy=True, norm=True):
        super().__init__()
        self.noisy, self.norm = noisy, norm
        with self.init_scope():
            self.c0 = L.Convolution2D(3, ch, 3, 1, 1)
            self.c1 = L.Convolution2D(ch, ch, 4, 2, 1)
            self.bn1 = L.BatchNormalization(ch)
            self.out = L.Linear(None, 1)

    def forward(self, x):
        h = _noisy(x) if self.noisy else x
        h = F.leaky_relu(self.c0(h))
        h = self.c1(_noisy(h) if self.noisy else h)
        h = F.leaky_relu(self.bn1(h) if self.norm else h)
        return self.out(h)


class Gan(chainer.Chain):
    """Both networks as children, so that one model has all parameters."""

    def __init__(self, g, d):
        super().__init__()
        with self.init_scope():
            self.g, self.d = g, d


def _compiled(compiled, cls, *args, **kwargs):
    return type(cls.__name__, (cls,), {"forward": compiled(cls.forward)})(*args, **kwargs)


def _z(k, n=4):
    r = rng(k)
    return r.randn(n, 8).astype("f"), r.uniform(-1, 1, (n, 3, 8, 8)).astype("f")


@case
def dcgan(compiled):
    """Both losses from one forward; the discriminator is updated in between."""
    model = Gan(_compiled(compiled, Generator), _compiled(compiled, Discriminator))

    def step(z, x):
        model.cleargrads()
        fake = model.g(z)
        y_real, y_fake = model.d(chainer.Variable(x)), model.d(fake)
        loss_d = F.sum(F.softplus(-y_real)) / len(z) + F.sum(F.softplus(y_fake)) / len(z)
        loss_d.backward()
        for p in model.d.params():
            p.array -= 1e-3 * p.grad
        model.cleargrads()
        loss_g = F.sum(F.softplus(-y_fake)) / len(z)
        loss_g.backward()
        return loss_g, loss_d, fake

    return Case(model, _z, step)


@case
def wgan_gp(compiled):
    """A penalty on the norm of a gradient, through three calls of the critic."""
    critic = _compiled(compiled, Discriminator, noisy=False, norm=False)
    model = Gan(Generator(), critic)

    def step(z, x):
        model.cleargrads()
        fake = model.g(z)
        fake = chainer.Variable(fake.array)
        e = np.random.uniform(0, 1, (len(z), 1, 1, 1)).astype("f")
        mixed = chainer.Variable(e * x + (1 - e) * fake.array)
        d_real, d_fake, d_mixed = critic(x), critic(fake), critic(mixed)
        (g,) = chainer.grad([d_mixed], [mixed], enable_double_backprop=True)
        norm = F.sqrt(F.batch_l2_norm_squared(g) + 1e-6)
        penalty = 10 * F.mean_squared_error(norm, np.ones(len(z), "f"))
        loss = F.mean(d_fake) - F.mean(d_real) + penalty
        loss.backward()
        return loss

    return Case(model, _z, step)


@case
def wgan_gp_inside(compiled):
    """The whole loss of the critic, its gradient penalty included, in the decorated method."""

    class Loss(Gan):
        @compiled
        def forward(self, z, x, e):
            fake = chainer.Variable(self.g(z).array)
            mixed = chainer.Variable(e * x + (1 - e) * fake.array)
            (g,) = chainer.grad([self.d(mixed)], [mixed], enable_double_backprop=True)
            penalty = F.mean((F.sqrt(F.batch_l2_norm_squared(g) + 1e-6) - 1) ** 2)
            return F.mean(self.d(fake)) - F.mean(self.d(x)) + 10 * penalty

    def batch(k):
        return (*_z(k), rng(k + 99).rand(4, 1, 1, 1).astype("f"))

    return Case(Loss(Generator(), Discriminator(noisy=False, norm=False)), batch)


class SNLinear(L.Linear):
    """Divides its weight by an estimate of the largest singular value."""

    def __init__(self, *args):
        super().__init__(*args)
        self.u = np.random.normal(size=(1, self.W.shape[0])).astype("f")
        self.register_persistent("u")

    def forward(self, x):
        w = self.W.array.reshape(len(self.W), -1)
        v = self.u.dot(w)
        v /= np.sqrt((v**2).sum()) + 1e-12
        u = v.dot(w.T)
        u /= np.sqrt((u**2).sum()) + 1e-12
        if chainer.config.train:
            self.u[...] = u
        sigma = F.sum(F.matmul(F.matmul(u, F.reshape(self.W, w.shape)), v.T))
        w_bar = self.W / F.broadcast_to(sigma, self.W.shape)
        return F.linear(x, w_bar, self.b)


@case
def spectral_gan(compiled):
    """Spectral normalization by a power iteration on raw arrays; hinge loss."""

    class Critic(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l1, self.l2, self.l3 = SNLinear(12, 24), SNLinear(24, 24), SNLinear(24, 1)

        @compiled
        def forward(self, x):
            h = F.relu(self.l2(F.relu(self.l1(x))))
            return self.l3(h)

    g = chainer.Sequential(L.Linear(8, 16), L.BatchNormalization(16), F.relu, L.Linear(16, 12))
    model = Gan(g, Critic())

    def step(z, x):
        model.cleargrads()
        fake = model.g(z)
        loss_d = F.mean(F.relu(1 - model.d(x))) + F.mean(F.relu(1 + model.d(fake.array)))
        loss_g = -F.mean(model.d(fake))
        loss_d.backward()
        loss_g.backward()
        return loss_d, loss_g

    def batch(k):
        r = rng(k)
        return r.randn(8, 8).astype("f"), r.randn(8, 12).astype("f")

    return Case(model, batch, step)


@case
def spectral_hook(compiled):
    """The library's own hook for spectral normalization."""

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l1, self.l2 = L.Linear(10, 20), L.Linear(20, 5)
            self.l1.add_hook(chainer.link_hooks.SpectralNormalization())

        @compiled
        def forward(self, x, t):
            return F.softmax_cross_entropy(self.l2(F.relu(self.l1(x))), t)

    def batch(k):
        r = rng(k)
        return r.randn(8, 10).astype("f"), r.randint(0, 5, 8).astype("i")

    return Case(Net(), batch)


@case
def cgan_projection(compiled):
    """Conditional batch normalization by class, and a projection discriminator."""

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l1, self.bn = L.Linear(8, 16), L.BatchNormalization(
                    16, use_gamma=False, use_beta=False
                )
                self.gamma = L.EmbedID(3, 16, initialW=1.0)
                self.beta = L.EmbedID(3, 16, initialW=0.0)
                self.l2, self.d, self.proj = L.Linear(16, 10), L.Linear(10, 12), L.EmbedID(3, 12)
                self.out = L.Linear(12, 1)

        @compiled
        def forward(self, z, c):
            h = self.bn(self.l1(z)) * self.gamma(c) + self.beta(c)
            f = F.leaky_relu(self.d(F.tanh(self.l2(F.relu(h)))), 0.2)
            score = self.out(f) + F.sum(self.proj(c) * f, axis=1, keepdims=True)
            return F.mean(F.softplus(-score))

    def batch(k):
        r = rng(k)
        return r.randn(8, 8).astype("f"), r.randint(0, 3, 8).astype("i")

    return Case(Net(), batch)


@case
def cyclegan(compiled):
    """Two generators and a cycle, in one method; an image pool picked by Python's random."""
    import random

    class Cycle(chainer.Chain):
        def __init__(self):
            super().__init__()
            self.pool = []
            with self.init_scope():
                self.ab, self.ba = (L.Convolution2D(3, 3, 3, pad=1) for _ in range(2))
                self.d = L.Convolution2D(3, 1, 3, 2, 1)

        def pooled(self, image):
            if len(self.pool) < 4:
                self.pool.append(image)
                return image
            if random.random() < 0.5:
                k = random.randrange(4)
                self.pool[k], image = image, self.pool[k]
            return image

        @compiled
        def forward(self, a, b):
            fake = F.tanh(self.ab(a))
            cycle = F.mean_absolute_error(self.ba(fake), a)
            old = self.pooled(fake.array.copy())
            loss = F.mean((self.d(fake) - 1) ** 2) + 10 * cycle
            return loss + F.mean((self.d(b) - 1) ** 2) + F.mean(self.d(old) ** 2)

    random.seed(3)

    def batch(k):
        r = rng(k)
        return r.randn(1, 3, 8, 8).astype("f"), r.randn(1, 3, 8, 8).astype("f")

    return Case(Cycle(), batch)


@case
def vae(compiled):
    """Bernoulli decoder, several samples of the latent, a weight on the divergence."""

    class Vae(chainer.Chain):
        def __init__(self, n=16, latent=3, beta=1.0, samples=2):
            super().__init__()
            self.beta, self.samples = beta, samples
            with self.init_scope():
                self.e1, self.mu = L.Linear(n, 20), L.Linear(20, latent)
                self.ln_var = L.Linear(20, latent)
                self.d1, self.d2 = L.Linear(latent, 20), L.Linear(20, n)

        @compiled
        def forward(self, x):
            h = F.tanh(self.e1(x))
            mu, ln_var = self.mu(h), self.ln_var(h)
            rec = 0
            for _ in range(self.samples):
                z = F.gaussian(mu, ln_var)
                y = self.d2(F.tanh(self.d1(z)))
                rec += F.bernoulli_nll(x, y) / (self.samples * len(x))
            self.rec = rec
            loss = rec + self.beta * F.gaussian_kl_divergence(mu, ln_var) / len(x)
            chainer.report({"rec": rec, "loss": loss}, observer=self)
            return loss

    return Case(Vae(), lambda k: ((rng(k).rand(10, 16) > 0.5).astype("f"),))


@case
def vae_distributions(compiled):
    """With distributions as values between the methods, as in the newer example."""

    class Encoder(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l, self.mu, self.s = L.Linear(12, 16), L.Linear(16, 3), L.Linear(16, 3)

        def forward(self, x):
            h = F.tanh(self.l(x))
            return D.Normal(loc=self.mu(h), log_scale=self.s(h))

    class Elbo(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.encoder, self.decoder = Encoder(), L.Linear(3, 12)

        @compiled
        def forward(self, x):
            q = self.encoder(x)
            z = q.sample(2)
            prior = D.Normal(np.zeros(3, "f"), np.ones(3, "f"))
            flat = F.reshape(z, (-1, 3))
            p = D.Bernoulli(logit=F.reshape(self.decoder(flat), (2, len(x), 12)))
            rec = F.mean(F.sum(p.log_prob(np.broadcast_to(x, (2, *x.shape))), axis=-1))
            penalty = F.mean(F.sum(chainer.kl_divergence(q, prior), axis=-1))
            return penalty - rec

    return Case(Elbo(), lambda k: ((rng(k).rand(8, 12) > 0.5).astype("f"),))


@case
def vq_vae(compiled):
    """Nearest codes by NumPy, gradients straight through."""

    class VqVae(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.e, self.d = L.Linear(12, 4), L.Linear(4, 12)
                self.codes = L.EmbedID(10, 4)

        @compiled
        def forward(self, x):
            z = self.e(x)
            d = ((z.array[:, None] - self.codes.W.array[None]) ** 2).sum(axis=2)
            q = self.codes(d.argmin(axis=1).astype("i"))
            straight = z + (q.array - z.array)
            loss = F.mean_squared_error(self.d(straight), x)
            loss += F.mean_squared_error(q, chainer.Variable(z.array))
            return loss + 0.25 * F.mean_squared_error(z, chainer.Variable(q.array))

    return Case(VqVae(), lambda k: (rng(k).randn(8, 12).astype("f"),))


@case
def real_nvp(compiled):
    """Coupling layers, a log determinant, permutations."""

    class Flow(chainer.Chain):
        def __init__(self, n=6, layers=4):
            super().__init__()
            self.order = [np.random.RandomState(k).permutation(n) for k in range(layers)]
            with self.init_scope():
                self.nets = chainer.ChainList(
                    *[
                        chainer.Sequential(L.Linear(n // 2, 16), F.tanh, L.Linear(16, n))
                        for _ in range(layers)
                    ]
                )

        @compiled
        def forward(self, x):
            h, log_det = x, 0
            for net, order in zip(self.nets, self.order, strict=True):
                a, b = F.split_axis(h, 2, axis=1)
                s, t = F.split_axis(net(a), 2, axis=1)
                s = F.tanh(s)
                b = b * F.exp(s) + t
                log_det = log_det + F.sum(s, axis=1)
                h = F.permutate(F.concat([a, b]), order.astype("i"), axis=1)
            log_p = -0.5 * F.sum(h * h, axis=1) - 0.5 * h.shape[1] * np.log(2 * np.pi)
            return -F.mean(log_p + log_det)

    return Case(Flow(), lambda k: (rng(k).randn(10, 6).astype("f"),))


@case
def pixelcnn(compiled):
    """Convolutions with masked weights: the mask is applied to the parameter's array."""

    class Masked(L.Convolution2D):
        def __init__(self, *args, first=False, **kwargs):
            super().__init__(*args, **kwargs)
            k = self.W.shape[2]
            self.mask = np.ones(self.W.shape, "f")
            self.mask[:, :, k // 2, k // 2 + (not first) :] = 0
            self.mask[:, :, k // 2 + 1 :] = 0

        def forward(self, x):
            return F.convolution_2d(x, self.W * self.mask, self.b, self.stride, self.pad)

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.first = Masked(1, 8, 5, pad=2, first=True)
                self.rest = chainer.ChainList(*[Masked(8, 8, 3, pad=1) for _ in range(3)])
                self.out = L.Convolution2D(8, 4, 1)

        @compiled
        def forward(self, x, t):
            h = F.relu(self.first(x))
            for layer in self.rest:
                h = h + F.relu(layer(h))
            return F.softmax_cross_entropy(self.out(h), t)

    def batch(k):
        t = rng(k).randint(0, 4, (2, 8, 8)).astype("i")
        return (t[:, None] / 3).astype("f"), t

    return Case(Net(), batch)


@case
def draw(compiled):
    """Recurrent attention that paints on a canvas."""

    class Draw(chainer.Chain):
        def __init__(self, n=12, latent=3, steps=4):
            super().__init__()
            self.steps = steps
            with self.init_scope():
                self.encoder, self.decoder = L.LSTM(2 * n + 8, 8), L.LSTM(latent, 8)
                self.mu, self.ln_var = L.Linear(8, latent), L.Linear(8, latent)
                self.write = L.Linear(8, n)

        @compiled
        def forward(self, x):
            self.encoder.reset_state()
            self.decoder.reset_state()
            canvas, h = np.zeros(x.shape, "f"), np.zeros((len(x), 8), "f")
            kl = 0
            for _ in range(self.steps):
                error = x - F.sigmoid(canvas)
                e = self.encoder(F.concat([x, error, h]))
                mu, ln_var = self.mu(e), self.ln_var(e)
                kl += F.gaussian_kl_divergence(mu, ln_var)
                h = self.decoder(F.gaussian(mu, ln_var))
                canvas = canvas + self.write(h)
            return (F.bernoulli_nll(x, canvas) + kl) / len(x)

    return Case(Draw(), lambda k: ((rng(k).rand(6, 12) > 0.5).astype("f"),))


@case
def denoising_autoencoder(compiled):
    """Stochastic corruption by NumPy, and tied weights."""

    class Dae(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l = L.Linear(16, 10)
                self.back = chainer.Parameter(0, (16,))

        @compiled
        def forward(self, x):
            keep = np.random.binomial(1, 0.7, x.shape).astype("f")
            h = F.sigmoid(self.l(x * keep))
            y = F.linear(h, F.transpose(self.l.W), self.back)
            return F.mean_squared_error(F.sigmoid(y), x)

    return Case(Dae(), lambda k: (rng(k).rand(10, 16).astype("f"),))


@case
def virtual_adversarial(compiled):
    """A perturbation from a gradient inside of the method."""

    class Vat(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l1, self.l2 = L.Linear(10, 20), L.Linear(20, 4)

        def logits(self, x):
            return self.l2(F.relu(self.l1(x)))

        def divergence(self, p, y):
            q = F.log_softmax(y)
            return F.sum(p * (F.log(p + 1e-6) - q)) / len(y)

        @compiled
        def forward(self, x, t):
            y = self.logits(x)
            p = F.softmax(y).array
            d = np.random.randn(*x.shape).astype("f")
            d = chainer.Variable(1e-1 * d / np.sqrt((d**2).sum(axis=1, keepdims=True)))
            (g,) = chainer.grad([self.divergence(p, self.logits(x + d))], [d])
            r = g.array / (np.sqrt((g.array**2).sum(axis=1, keepdims=True)) + 1e-8)
            return F.softmax_cross_entropy(y, t) + self.divergence(p, self.logits(x + r))

    def batch(k):
        r = rng(k)
        return r.randn(8, 10).astype("f"), r.randint(0, 4, 8).astype("i")

    return Case(Vat(), batch)


@case
def mixup_classifier(compiled):
    """Mixed images; the weight is drawn in each batch and comes as a number."""

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.c, self.l = L.Convolution2D(3, 6, 3), L.Linear(None, 5)

        @compiled
        def forward(self, x, t):
            lam = float(np.random.beta(0.4, 0.4))
            order = np.random.permutation(len(x))
            y = self.l(F.relu(self.c(lam * x + (1 - lam) * x[order])))
            return lam * F.softmax_cross_entropy(y, t) + (1 - lam) * F.softmax_cross_entropy(
                y, t[order]
            )

    return Case(Net(), images(4, 3, 8))
