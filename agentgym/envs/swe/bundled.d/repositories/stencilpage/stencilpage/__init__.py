"""A small template language: values, filters, conditions, loops."""

from stencilpage.expressions import RenderError
from stencilpage.filters import FILTERS
from stencilpage.scanner import TemplateError
from stencilpage.template import Template, render

__all__ = ["FILTERS", "RenderError", "Template", "TemplateError", "render"]
