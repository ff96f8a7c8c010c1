"""How a shared model is learned from what owners send: one file per rule.

A rule of your own: a file here, a line in `fedabm/learning/__init__.pyi` (which puts it under the contract test and
gives it a name in text, such as `--set rule=krum`), and a test of what it is known for in
`tests/learning/test_rules.py`.

`base` says what a rule is, `recipe` how owners train, `rounds` how rounds go, `aggregate` what rules have in common.
"""
