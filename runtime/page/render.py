"""Puts views into the templates."""

from __future__ import annotations

from collections.abc import Sequence

from chainwright.ir.template import template

from .views import HEIGHT, WIDTH, Method


def page(title: str, methods: Sequence[Method], facts: Sequence[tuple[str, str]] = ()) -> str:
    """The whole page, with its style and its script inside."""
    return template("chainwright.runtime.page", "report.html.j2", autoescape=True).render(
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
