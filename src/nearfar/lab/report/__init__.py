"""HTML reports of an experiment's folder, each one self-contained file.

:func:`write_report` combines the output of an experiment - Markdown with its tables, figures, JSON
results - in one page: figures, styles and the script that sorts tables are embedded. A content
security policy in the page names the digests of that script and that style and forbids every
request, so nothing in a result file can run or reach a network.
"""

from nearfar.lab.report.folder import report_html, write_report

__all__ = ["report_html", "write_report"]
