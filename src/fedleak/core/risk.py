"""Three questions about what somebody learns of a person, as data-protection authorities put them: opinion 05/2014
(WP216) of the Article 29 Working Party."""

from __future__ import annotations

from enum import StrEnum

from fedleak.core.adversary import SecretKind


class Risk(StrEnum):
    """Each with the question that it asks."""

    SINGLING_OUT = "singling out", "Can records of single persons be isolated?"
    LINKABILITY = "linkability", "Can records be told to concern the same person or group?"
    INFERENCE = "inference", "Can something about a person be deduced from what else is known?"

    question: str

    def __new__(cls, value: str, question: str) -> Risk:
        member = str.__new__(cls, value)
        member._value_, member.question = value, question
        return member


# Whole records stand for persons, whoever they are; inner products of rows say which are alike, and no value of any;
# everything else is a value, or a bracket of one, of a row that the partners know, or of what rows have in common.
_OF_KIND = {
    SecretKind.IMAGES: (Risk.SINGLING_OUT, Risk.INFERENCE),
    SecretKind.RECORDS: (Risk.SINGLING_OUT, Risk.INFERENCE),
    SecretKind.FEATURES: (Risk.SINGLING_OUT, Risk.INFERENCE),
    SecretKind.GRAM: (Risk.LINKABILITY,),
}
WHOLE_RECORDS = 0.9  # of the cells, from which on a row of several columns stands out as one


def risks_of(kind: SecretKind) -> tuple[Risk, ...]:
    """The questions that an attack on such a secret puts."""
    return _OF_KIND.get(kind, (Risk.INFERENCE,))


def shown_by(kind: SecretKind, n_columns: int, recovered: float | None) -> tuple[Risk, ...]:
    """Those that a leak answers: a part of the cells, or a single column, is something about persons, no record."""
    whole = n_columns > 1 and recovered is not None and recovered >= WHOLE_RECORDS
    return (Risk.INFERENCE,) if kind is SecretKind.FEATURES and not whole else risks_of(kind)
