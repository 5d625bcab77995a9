"""Reports: results as tables, files and text for the terminal."""

from mcettr.report.files import check_outputs, read_result, write_result

__all__ = ["check_outputs", "read_result", "write_result"]
