"""What an adversary has to work with. Attacks declare what they need in these words."""

from __future__ import annotations

from enum import StrEnum


class Capability(StrEnum):
    OWN_FEATURES = "its own feature rows"
    OWN_WEIGHTS = "its own model weights"
    OWN_GRADIENT = "its own gradient in every round"
    LABELS = "the labels"
    TWO_CLASSES = "a model of two classes"
    LINEAR_RESIDUAL = "residuals that are linear in the scores"
    BATCH_IDS = "which rows are in each batch"
    CIPHERTEXTS = "ciphertexts received from partners"
    DECRYPTION_KEY = "the key that opens the parties' ciphertexts"
    ALL_GRADIENTS = "every party's gradient"
    AVERAGED_WEIGHTS = "the averaged model of every round"
    UPDATE_SUM = "the sum of all parties' model updates in every round"
    MODEL = "the trained model"
    PREDICTIONS = "the model's outputs for known rows"
    PREDICTION_SERVICE = "a prediction service to query"
    LINEAR_MODEL = "a trained linear model"
    TREE_MODEL = "a trained decision tree"
    FOREST_MODEL = "a trained forest of votes"
    CONTRIBUTIONS = "what each column contributed to each prediction"
    KNOWN_CELLS = "some of the victim's cells"
    PUBLIC_SAMPLE = "a public sample of similar rows"
