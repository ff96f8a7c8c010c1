"""One self-contained HTML page from any run or sweep folder: `fedabm report DIR`.

`source` reads the folder, `facts`, `concerns`, `tables` and `gallery` say what is told about it, `page` joins them.
From Python: `fedabm.report.page.write_report(folder, file)`; nothing is imported here, for speed.
"""
