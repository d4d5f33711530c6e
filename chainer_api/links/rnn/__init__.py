"""Recurrent connections; Chainer 5 had these modules in ``chainer.links.connection``."""
