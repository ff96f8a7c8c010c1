"""One self-contained HTML page from any run or sweep folder: `fedabm report DIR`.

From Python: `fedabm.report.page.write_report(folder, file)`; nothing is imported here, for speed.
"""
