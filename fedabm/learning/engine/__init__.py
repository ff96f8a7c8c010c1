"""All owners' models as rows of one matrix.

engine         trains and judges them (`Engine`)
networks       the papers' networks; blocks: modules of ours in them
optimisers     SGD and Adam for many owners at once
batches        which samples each owner trains on at each step
training       the loop that trains a chunk of owners
batched        gradients by layers written by hand (layers, passes, first_layer); general: of any other network
evaluate       many models on many owners' data
flat           where each parameter stands in a row
sizing         how much work a network is, which way of training is the fastest, how many owners at once
threads        jobs on a CPU, one thread each
"""
