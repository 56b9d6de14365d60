"""The certificate: every claim of the theory against simulation, with a verdict."""

from .certify import Certificate, Line, verify
from .markdown import to_markdown

__all__ = ["Certificate", "Line", "to_markdown", "verify"]
