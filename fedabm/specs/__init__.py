"""From text to typed objects: one route for games and sweeps in TOML and for `--set` on the command line.

- `places`   what stands in a module or in a file of one's own: "package.module:name", "path/to/file.py:name"
- `kinds`    the names of classes: "shapley_share" where a mechanism is wanted
- `hints`    what the annotations of a function or class say
- `plain`    numbers, texts and choices
- `shapes`   which values annotations ask for, in words
- `values`   any TOML value, read as an annotation wants it
- `written`  the way back, from objects to TOML values
- `words`    both ways for words of the command line
- `toml`     TOML files and texts
- `games`    a game in a few lines of TOML; `owners`: one grammar for owners, also of studies
- `settlement` how claims are billed
- `families` families of classes and their entry points; `bounds`: which values their parameters may have
"""
