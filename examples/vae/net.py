"""The networks of a variational autoencoder, and its loss."""
import numpy as np

import chainer
import chainer.distributions as D
import chainer.functions as F
import chainer.links as L


class Encoder(chainer.Chain):
    """What a picture may have been made of: a normal distribution for each picture."""

    def __init__(self, n_in, n_latent, n_units):
        super().__init__()
        with self.init_scope():
            self.hidden = L.Linear(n_in, n_units)
            self.mu = L.Linear(n_units, n_latent)
            self.log_sigma = L.Linear(n_units, n_latent)

    def forward(self, x):
        h = F.tanh(self.hidden(x))
        return D.Normal(loc=self.mu(h), log_scale=self.log_sigma(h))


class Decoder(chainer.Chain):
    """The pictures that can be made of a latent vector: the probability of each pixel."""

    def __init__(self, n_in, n_latent, n_units):
        super().__init__()
        with self.init_scope():
            self.hidden = L.Linear(n_latent, n_units)
            self.logit = L.Linear(n_units, n_in)

    def forward(self, z):
        h = F.tanh(self.hidden(z))
        return D.Bernoulli(logit=self.logit(h))


class VAE(chainer.Chain):
    """Encoder and decoder; gives the loss (the negative evidence lower bound).

    See D. P. Kingma and M. Welling, "Auto-Encoding Variational Bayes" (arXiv:1312.6114).

    Args:
        n_in (int): Pixels.
        n_latent (int): Size of the latent vectors.
        n_units (int): Units of the hidden layers.
        beta (float): Weight of the distance of the latent vectors to the prior.
        n_samples (int): Latent vectors that are drawn for each picture.
    """

    def __init__(self, n_in, n_latent, n_units, beta=1.0, n_samples=1):
        super().__init__()
        self.n_latent = n_latent
        self.beta = beta
        self.n_samples = n_samples
        with self.init_scope():
            self.encoder = Encoder(n_in, n_latent, n_units)
            self.decoder = Decoder(n_in, n_latent, n_units)

    def prior(self):
        zeros = self.xp.zeros(self.n_latent, np.float32)
        return D.Normal(loc=zeros, log_scale=zeros)

    def bound(self, x):
        """Return how well pictures are made again, and the distance to the prior, per picture."""
        q = self.encoder(x)
        z = q.sample(self.n_samples)
        p = self.decoder(F.reshape(z, (-1, self.n_latent)))
        targets = F.reshape(
            F.broadcast_to(x[None], (self.n_samples, *x.shape)), (-1, x.shape[1]))
        reconstruction = F.sum(p.log_prob(targets)) / (self.n_samples * len(x))
        penalty = F.sum(chainer.kl_divergence(q, self.prior())) / len(x)
        return reconstruction, penalty

    def forward(self, x):
        reconstruction, penalty = self.bound(x)
        loss = self.beta * penalty - reconstruction
        chainer.report(
            {'loss': loss, 'reconstr': reconstruction, 'kl_penalty': penalty}, self)
        return loss
