"""Formulas as MathML: pages show them without a script and without a network."""
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def mathml(node, block):
    text = node.astext().replace(r'\dots', r'\ldots')  # the one command docutils does not know
    if block and ('\\\\' in text or '&' in text):
        text = f'\\begin{{aligned}}{text}\\end{{aligned}}'
    try:
        return latex2mathml.tex2mathml(text, as_block=block)
    except MathError as error:
        logger.warning(f'not understood: {text!r}: {error}', location=node)
        return ''


def visit_math(self, node):
    self.body.append(mathml(node, block=False))
    node.children = []


def visit_math_block(self, node):
    self.body.append(f'<div class="math">{mathml(node, block=True)}</div>')
    node.children = []


def depart(self, node):
    pass


def setup(app):
    app.add_html_math_renderer('mathml', (visit_math, depart), (visit_math_block, depart))
    return {'parallel_read_safe': True}
