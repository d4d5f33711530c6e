"""Templates of generated text, beside the code that fills them in."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2


@functools.cache
def template(package: str, name: str, autoescape: bool = False) -> jinja2.Template:
    """The template of a name in the folder ``templates`` of a package; a gap in it is an error.

    Most processes fill in none, and do without the time that Jinja takes to be imported.

    >>> from chainwright.ir.template import template
    >>> template("chainwright.codegen.cuda_target", "program.py.j2").name
    'program.py.j2'
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=autoescape,
    )
    return environment.get_template(name)
