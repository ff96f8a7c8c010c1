"""From text to typed objects: one route for games and sweeps in TOML and for `--set` on the command line.

places      what stands in a module or in a file of one's own: "package.module:name", "path/to/file.py:name"
kinds       the names of classes: "shapley_share" where a mechanism is wanted
hints       what the annotations of a function or class say
values      a TOML value, read as an annotation wants it
words       the same from a word of the command line, and back
toml        TOML files
games       a game in a few lines of TOML
"""
