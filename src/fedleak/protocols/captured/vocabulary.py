"""A captured run has no words of its own: it speaks those of the other families, and names of its recorder's own."""

from fedleak.core.vocabulary import Vocabulary

VOCABULARY = Vocabulary(steps=(), records=(), facts=())
