"""Puts views into the templates."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from .views import HEIGHT, WIDTH, Method


def page(title: str, methods: Sequence[Method], facts: Sequence[tuple[str, str]] = ()) -> str:
    """The whole page, with its style and its script inside."""
    return _template("report.html.j2").render(
        title=title,
        methods=methods,
        facts=facts,
        style=_text("report.css"),
        script=_text("report.js"),
        width=WIDTH,
        height=HEIGHT,
    )


def _text(name: str) -> str:
    from importlib import resources

    folder = resources.files("chainwright.runtime.page") / "templates"
    return (folder / name).read_text("utf-8")


@functools.cache
def _template(name: str) -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("chainwright.runtime.page"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    return environment.get_template(name)
