"""From a log of what happened to who owes whom how much.

contract   the rule, the owners and the terms that a game or study in TOML states
log        claims by round and owner, from CSV, Parquet, a folder of frames, a data frame or MLflow
statement  what is due, by owner and round, and between whom
doubts     claims that are odd, and what each is worth
document   a statement as JSON with its digest, and its verification
"""
