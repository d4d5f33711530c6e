"""Functions of Theano as links."""
