"""Split, change and join URLs and query strings."""

from linkquery.percent import UrlError, quote, unquote
from linkquery.query import Query
from linkquery.resolve import join, normalize, remove_dots
from linkquery.url import Url

__all__ = ["Query", "Url", "UrlError", "join", "normalize", "quote", "remove_dots", "unquote"]
