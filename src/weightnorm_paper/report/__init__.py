"""The report: figures, numbers, findings and the certificate in one HTML file."""

from .page import Section, write_report

__all__ = ["Section", "write_report"]
