"""The certificate: every claim of the theory against simulation, with a verdict."""

from .certify import Certificate, Line, verify

__all__ = ["Certificate", "Line", "verify"]
