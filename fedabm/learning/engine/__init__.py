"""All owners' models as rows of one matrix: networks, layers, optimisers, training and evaluation."""
