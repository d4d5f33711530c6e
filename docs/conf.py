"""Settings of the documentation site: `make docs` writes it to build/docs."""
import pathlib
import sys

import chainwright

sys.path.insert(0, str(pathlib.Path(__file__).parent))

project = 'Chainwright'
author = copyright = 'the Chainwright developers'
version = release = chainwright.__version__

extensions = [
    'myst_parser',
    'sphinx.ext.autodoc',
    'sphinx.ext.autosummary',
    'sphinx.ext.doctest',
    'sphinx.ext.napoleon',
    '_mathml',
    '_names',
    '_outside',
]
root_doc = 'index'
html_math_renderer = 'mathml'
html_theme = 'furo'
html_title = f'Chainwright {release}'
html_show_sourcelink = False

myst_heading_anchors = 4  # for links such as static_graph.md#trust

autosummary_generate = False
autodoc_member_order = 'groupwise'
autodoc_typehints = 'none'  # the docstrings say more
napoleon_use_rtype = False

# A name of ours that is written as a link must exist; names of other packages are plain text.
nitpicky = True
nitpick_ignore_regex = [('py:.*', r'(?!chainer|chainermn|chainwright|onnx_chainer).*')]
