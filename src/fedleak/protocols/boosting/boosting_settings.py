"""Settings of vertically federated boosted trees, and what follows from them in public."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from fedleak.core.errors import InputError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.whole.federation import Settings, setting
from fedleak.crypto.blinding import FRESH, NONE, SHARED, check_blinding
from fedleak.crypto.cipher import CIPHER_CHOICES, CIPHER_MEANING, check_key_bits
from fedleak.models.boosting.booster import Sampling
from fedleak.models.boosting.growth import Rule
from fedleak.protocols.boosting import vocabulary as boosting

OBJECTIVES = ("auto", "logistic", "softmax", "squared")
PREDICTIONS = ("routing", "scores")
BLINDINGS = (FRESH, SHARED, NONE)
PUBLIC = (  # settings that are facts as they are
    "depth",
    "bins",
    "min_bin_rows",
    "l2",
    "min_gain",
    "min_child_weight",
    "row_share",
    "goss",
    "reveal_feature",
    "tell_leaves",
    "blinding",
    "label_epsilon",
    "first_tree_alone",
    "packed",
    "unit_box",
    "prediction",
    "enrolled_records",
)


@dataclass(frozen=True)
class SecureBoostSettings(Settings):
    """The defaults of numbers are FATE's."""

    objective: str = setting("auto", "the loss; auto: by the labels", choices=OBJECTIVES)
    n_trees: int = setting(
        5, "rounds of boosting; of three classes or more each has a tree a class", unit="trees", tells_less="fewer"
    )
    depth: int = setting(5, "largest depth of a tree", unit="levels", tells_less="fewer")
    bins: int = setting(32, "quantile bins of a column, at most", unit="bins", tells_less="fewer")
    min_bin_rows: int = setting(1, "rows that every bin has at least", unit="rows", tells_less="more")
    learning_rate: float = setting(0.3, "what a tree's leaves count", tells_less="fewer")
    l2: float = setting(0.1, "weight of the squared leaf weights in the loss (lambda)")
    min_gain: float = setting(1e-3, "a split must gain more than this")
    min_child_weight: float = setting(0.0, "smallest sum of hessians in a child")
    row_share: float = setting(1.0, "share of the rows that a tree is grown on", unit="0 to 1", tells_less="fewer")
    column_share: float = setting(
        1.0, "share of its columns that a party offers to a tree", unit="0 to 1", tells_less="fewer"
    )
    goss: bool = setting(False, "grow on rows of large gradients and a few of the others (lossy)")
    goss_top: float = setting(0.2, "goss: share of rows with the largest gradients", unit="0 to 1")
    goss_other: float = setting(0.1, "goss: share of rows drawn from the others", unit="0 to 1")
    label_epsilon: float = setting(
        0.0,
        "trees grow on labels under randomised response of this privacy, leaves fit the true ones; 0: off",
    )
    first_tree_alone: bool = setting(
        False, "the label holder grows the first round's trees on its own columns", tells_less="other"
    )
    reveal_feature: bool = setting(
        True, "partners tell the column of each candidate, as FATE does; thresholds never", tells_less="other"
    )
    tell_leaves: bool = setting(
        True, "partners are told the leaf of every row, as in FATE 2; nothing needs it", tells_less="other"
    )
    packed: bool = setting(
        True, "g and h in one ciphertext, many candidates in one, siblings by subtraction; false: none of that"
    )
    verify: bool = setting(True, "the label holder checks that routing adds up to the sums of the chosen candidate")
    unit_box: bool = setting(False, "everybody knows that every column lies between 0 and 1 (minmax scaling)")
    prediction: str = setting(
        "routing",
        "what the label holder sees of a prediction: every hop, or scores alone",
        choices=PREDICTIONS,
        tells_less="other",
    )
    enrolled_records: bool = setting(
        False, "the label holder may enrol made-up records at its partners and have them predicted", tells_less="other"
    )
    query_budget: int = setting(0, "queries that the prediction service answers; 0 is without limit", unit="queries")
    record_budget: int = setting(0, "records that it answers in all; 0 is without limit", unit="records")
    cipher: str = setting("paillier", CIPHER_MEANING, choices=CIPHER_CHOICES)
    key_bits: int = setting(2048, "length of the Paillier modulus", unit="bits")
    blinding: str = setting(
        "fresh",
        "randomness of encrypted gradients: of each its own; one for all of a tree; none, a fault that libraries had",
        choices=BLINDINGS,
    )
    fraction_bits: int = setting(40, "fractional bits of the fixed-point encoding", unit="bits")

    def __post_init__(self) -> None:
        self._check_choices()
        self._check_counts()
        self._check_numbers()
        check_key_bits(self.key_bits, allow_small_keys=False)

    def _check_choices(self) -> None:
        for name, choices in (("objective", OBJECTIVES), ("prediction", PREDICTIONS)):
            if getattr(self, name) not in choices:
                raise InputError(f"{name} must be one of {', '.join(choices)}; got {getattr(self, name)!r}")
        check_blinding(self.blinding, self.cipher, BLINDINGS)

    def _check_counts(self) -> None:
        least = {"n_trees": 1, "depth": 1, "bins": 2, "min_bin_rows": 1, "query_budget": 0, "record_budget": 0}
        for name, low in least.items():
            if getattr(self, name) < low:
                raise InputError(f"{name} must be {low} or more; got {getattr(self, name)}")
        if self.depth > 16:
            raise InputError(f"depth must be at most 16: a tree has up to 2^depth leaves; got {self.depth}")
        if not 8 <= self.fraction_bits <= 52:
            raise InputError(f"fraction_bits must be from 8 to 52; got {self.fraction_bits}")

    def _check_numbers(self) -> None:
        for name in ("learning_rate", "row_share", "column_share", "goss_top", "goss_other"):
            if not 0 < getattr(self, name) < inf:
                raise InputError(f"{name} must be above 0 and finite; got {getattr(self, name)}")
        for name in ("l2", "min_gain", "min_child_weight", "label_epsilon"):
            if not 0 <= getattr(self, name) < inf:
                raise InputError(f"{name} must be 0 or more and finite; got {getattr(self, name)}")
        for name in ("row_share", "column_share"):
            if getattr(self, name) > 1:
                raise InputError(f"{name} must be at most 1; got {getattr(self, name)}")
        if self.goss_top + self.goss_other > 1:
            raise InputError(f"goss_top and goss_other must add up to 1 or less; got {self.goss_top + self.goss_other}")
        if self.goss and self.row_share < 1:
            raise InputError(f"row_share must be 1 with goss, which samples rows itself; got {self.row_share}")

    @property
    def rule(self) -> Rule:
        return Rule(
            self.depth, self.l2, self.min_gain, self.min_child_weight, self.learning_rate, subtract_siblings=self.packed
        )

    @property
    def sampling(self) -> Sampling:
        return Sampling(self.row_share, self.column_share, self.goss, self.goss_top, self.goss_other)


def boosting_facts(
    protocol: str, settings: SecureBoostSettings, parties: tuple[PartyFacts, ...], n_rows: int | None
) -> Facts:
    own = boosting.BoostingFacts(
        objective=None if settings.objective == "auto" else settings.objective,
        n_rounds=settings.n_trees,
        query_budget=settings.query_budget or None,
        record_budget=settings.record_budget or None,
        **{name: getattr(settings, name) for name in PUBLIC},
    )
    return Facts(
        protocol=protocol,
        parties=parties,
        n_rows=n_rows,
        learning_rate=settings.learning_rate,
        cipher=settings.cipher,
        key_bits=settings.key_bits,
        fraction_bits=settings.fraction_bits,
        own=own,
    )
