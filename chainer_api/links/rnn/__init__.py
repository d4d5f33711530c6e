"""Module paths of Chainer 7 for the recurrent links."""
