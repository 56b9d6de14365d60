"""The certificate: every claim of the theory against simulation, with a verdict."""

from .certify import Certificate, Line, verify
from .markdown import counts, summary, to_erratum, to_markdown

__all__ = ["Certificate", "Line", "counts", "summary", "to_erratum", "to_markdown", "verify"]
