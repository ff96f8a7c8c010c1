"""Language models in a federation: one frozen base for all owners, and everybody's adapter as a row.

models        pretrained models from a folder, the hub or a package, with their checksum
frozen        a model whose numbers are no parameters, cut before its last layers
adapters      low-rank adapters (and a head) on such a model: the network that the engine trains
activations   what the frozen layers make of every sample, found once
instructions  texts as tokens, with the answer that is to be learned
exchange      adapters to and from the format of peft
packed        texts one after the other in one row, without padding
answers       what an owner's model is worth to it: right answers, or the likelihood of the held-out ones
writing       what a model writes, token by token
trials        whether code passes its tests, in a process with limits
yardsticks    what the owner would have without tuning, or without a language model

Needs the extra `llm`.
"""
