"""The directive ``names``: entries of the API reference, from the docstrings."""
import inspect

from _entries import imported, listed
from sphinx.util.docutils import SphinxDirective


def entry(name, options):
    """The directive of one name."""
    thing = imported(name)
    if not inspect.isclass(thing):
        kind = 'function' if inspect.isroutine(thing) else 'data'
        return [f'.. auto{kind}:: {name}', *options, '']
    options = [*options, '   :members:', '   :special-members: __call__', '   :show-inheritance:']
    base = next((base for base in thing.__mro__[1:] if base in CLASSES), object)
    if base not in (thing.__mro__[1], object):
        # Members of bases that have no entry of their own are shown here.
        options.append(f'   :inherited-members: {base.__name__}')
    return [f'.. autoclass:: {name}', *options, '']


CLASSES = {thing for thing in map(imported, listed()) if inspect.isclass(thing)}


def show_bases(app, name, thing, options, bases):
    """In the list of bases, those without an entry are replaced by theirs."""
    def shown(base):
        hidden = base.__module__.startswith('chainer') and base not in CLASSES
        return sum(map(shown, base.__bases__), []) if hidden else [base]

    bases[:] = dict.fromkeys(sum(map(shown, bases), []))


class Names(SphinxDirective):
    """A table of names, one a line, and below it an entry for each of them."""

    has_content = True
    option_spec = {'no-index': lambda argument: None}

    def run(self):
        names = [line.strip() for line in self.content if line.strip()]
        options = [f'   :{option}:' for option in self.options]
        lines = []
        if not options:
            lines = ['.. autosummary::', '   :nosignatures:', '']
            lines += [*(f'   {name}' for name in names), '']
        for name in names:
            lines += entry(name, options)
        self.env.ref_context.pop('py:module', None)  # the names are whole
        return self.parse_text_to_nodes('\n'.join(lines))


def setup(app):
    app.add_directive('names', Names)
    app.connect('autodoc-process-bases', show_bases)
    return {'parallel_read_safe': True}
