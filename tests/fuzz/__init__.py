"""Long searches for what breaks a promise, each a command of its own with a short version among the tests.

python -m tests.fuzz.certificates --games 5000  nobody beats a certificate
python -m tests.fuzz.proven 026ca4a             as many games have a certificate as in an older commit
python -m tests.fuzz.forge --tries 200          forged checkpoints run nothing
python -m tests.fuzz.flips --tries 2000         damaged results are refused, or read the same
python -m tests.fuzz.disk --faults 300          a disk that refuses costs a warning or one line
python -m tests.fuzz.specs --inputs 10000       bad input gets one line, whatever it is
python -m tests.fuzz.kills --kills 300          killed sweeps and studies go on to the same frames
python -m tests.fuzz.scenarios --seeds 10       every scenario ends well, also at its extremes
"""
