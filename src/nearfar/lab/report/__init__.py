"""One HTML file of an experiment's folder, to be opened from disk and sent around.

:func:`write_report` gathers what an experiment wrote - Markdown with its tables, figures, JSON
results - into a page that needs nothing else: figures are inside as data, styles and the sorting of
tables are our own and inside too. A content security policy in the page names the digests of that
one script and that one style, and forbids every request, so nothing that a result file says can run
or reach a network.
"""

from nearfar.lab.report.folder import report_html, write_report

__all__ = ["report_html", "write_report"]
