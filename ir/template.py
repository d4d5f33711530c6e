"""Templates of generated text, beside the code that fills them in."""

from __future__ import annotations

import functools

import jinja2


@functools.cache
def template(package: str, name: str, autoescape: bool = False) -> jinja2.Template:
    """The template of a name in the folder ``templates`` of a package; a gap in it is an error.

    >>> from chainwright.ir.template import template
    >>> template("chainwright.codegen.numpy_target", "program.py.j2").name
    'program.py.j2'
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=autoescape,
    )
    return environment.get_template(name)
