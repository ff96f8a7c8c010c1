"""What every room uses, and what knows of none of them.

errors      bad input in one line: what, got and remedy
random      one random stream per owner, all from one seed
arrays      types of arrays; `table`: arrays as fields of frozen dataclasses
rowwise     arithmetic whose bits do not depend on how many rows are computed together
names       names of classes in text files and frames
texts       anybody's texts, shown as what they are
archive     objects as plain data in files, read back without running code
state       what changes in a run, declared part by part
digest      content as a digest; `sources`: the code that can change results
files       files that are whole or not there, and locks
log         the logger `fedabm`; `notebooks`: how things look there; `lazy`: public modules by their stubs
timing      which share of the time goes into what
"""
