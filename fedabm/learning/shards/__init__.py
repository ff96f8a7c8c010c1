"""The owners of one federation dealt to workers of a Ray cluster, which train them where their data lie.

`worker` is what one worker does, `pool` the workers of this process, which are watched and replaced, `shards` deals an
engine's owners, and `rows` are what owners sent, asked for sums, tables and single rows.

Chunks of owners that train together are those of the whole federation, and whole chunks go to workers, as rounding may
depend on who shares a chunk.  Weighted sums go from worker to worker, each adding its owners in the order of the plan.
So results are bit for bit those of one process, whatever the number of workers.
"""
