"""Defenses that are nothing but another choice of settings, for training or for what is revealed afterwards."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fedleak.core.arrays import read_only
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts
from fedleak.core.steps import DATA_ROLES, Role
from fedleak.core.whole.federation import Federation, setting
from fedleak.core.whole.hooks import Defense


@dataclass(frozen=True)
class LargerBatch(Defense):
    """Leaves every honest party with fewer equations than rows: residuals are hidden, labels are not. A party that
    packs its products gets the residuals as well."""

    name = "larger-batch"
    summary = "raises the batch size above every party's number of columns, the last batch of an epoch included"
    reference = Reference("hu2022", "sections 3 and 5")
    changes = frozenset({"batch_size"})

    batch_size: int = setting(
        0, "rows of a batch; if 0, twice the columns of the widest party or more, with no short batch left", unit="rows"
    )

    def __post_init__(self) -> None:
        if self.batch_size < 0:
            raise InputError(f"batch_size of larger-batch must be 0 or more; got {self.batch_size}")

    def configure(self, federation: Federation) -> Federation:
        widest = max(len(party.columns) for party in federation.parties)
        n_rows = max(len(party.train.ids) for party in federation.parties)
        if self.batch_size:
            return federation.with_settings(batch_size=min(self.batch_size, n_rows) if n_rows else self.batch_size)
        wanted = max(2 * widest, getattr(federation.settings, "batch_size", 0), 1)
        return federation.with_settings(batch_size=_without_short_batch(wanted, n_rows, widest))

    def declare(self, facts: Facts) -> Facts:
        """Before anybody shows data, columns or rows may be missing that the size of a batch follows from."""
        counts = [party.n_features for party in facts.parties if party.role in DATA_ROLES]
        known = self.batch_size or (facts.n_rows is not None and None not in counts)
        return facts if known else replace(facts, batch_size=None)


def _without_short_batch(wanted: int, n_rows: int, widest: int) -> int:
    """The first size from the wanted one on whose last batch is not within the columns either: that one alone would
    give its rows away in every epoch. One batch of all rows is such a size, if there are rows enough at all."""
    sizes = range(min(wanted, n_rows), n_rows)
    return next((size for size in sizes if not 0 < n_rows % size <= widest), n_rows) if n_rows else wanted


@dataclass(frozen=True)
class FreshBatches(Defense):
    """No two updates are then over the same rows."""

    name = "fresh-batches"
    aliases = ("shuffling",)
    summary = "deals a party's rows into batches anew in every round"
    reference = Reference("li2019", "section 4.2")
    changes = frozenset({"shuffled"})

    parties: tuple[str, ...] = setting((), "who shuffles; every party with rows if empty")

    def configure(self, federation: Federation) -> Federation:
        for name in self.parties:
            federation.party(name)
        everyone = tuple(party.name for party in federation.with_role(Role.ACTIVE))
        already = tuple(getattr(federation.settings, "shuffled", ()))
        names = dict.fromkeys((*already, *(self.parties or everyone)))
        return federation.with_settings(shuffled=tuple(names))


@dataclass(frozen=True)
class LocalSteps(Defense):
    """The update is then no longer linear in the batches' data."""

    name = "local-steps"
    aliases = ("asynchronous-updates",)
    summary = "sends the change after a local step on each batch instead of a gradient; helps only with large steps"
    reference = Reference("li2019", "section 4.2")
    changes = frozenset({"update", "learning_rate"})
    chooses = read_only({"update": "asynchronised"})

    learning_rate: float = setting(0.1, "the local step size; small ones do not protect", tells_less="more")

    def __post_init__(self) -> None:
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate of local-steps must be above 0; got {self.learning_rate}")

    def configure(self, federation: Federation) -> Federation:
        return federation.with_settings(**self.chooses, learning_rate=self.learning_rate)


@dataclass(frozen=True)
class LargeInitialisation(Defense):
    """Scores then drown the label in a residual's sign. Efficiency is traded for privacy, as the paper says."""

    name = "large-initialisation"
    summary = "draws the first weights from the standard normal distribution"
    reference = Reference("hu2022", "section 4")
    changes = frozenset({"initialisation"})
    chooses = read_only({"initialisation": "normal"})

    def configure(self, federation: Federation) -> Federation:
        return federation.with_settings(**self.chooses)


@dataclass(frozen=True)
class SecretSharedGradients(Defense):
    """Every party holds random shares of gradients and weights. Attacks that start from a gradient have nothing to
    see, and are skipped for that reason. The parties compute on the shares; the dealer of their triples is ideal."""

    name = "secret-shared-gradients"
    summary = "keeps gradients and weights as secret shares, so that no party sees its own"
    reference = Reference("hu2022", "section 6")
    changes = frozenset({"gradients"})

    def configure(self, federation: Federation) -> Federation:
        return federation.with_settings(gradients="secret-shared")


@dataclass(frozen=True)
class Dropout(Defense):
    name = "dropout"
    summary = "trains the network with dropout, so that it memorises less"
    reference = Reference("luo2021", "section VII, fig. 11e-f")
    changes = frozenset({"dropout"})

    share: float = setting(
        0.5, "share of the neurons of a hidden layer that are left out at a step", unit="0 to 1", tells_less="more"
    )

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise InputError(f"share of dropout must be above 0 and below 1; got {self.share}")

    def configure(self, federation: Federation) -> Federation:
        return federation.with_settings(dropout=self.share)


@dataclass(frozen=True)
class HiddenModel(Defense):
    """The active party gets confidences alone, or with explanations."""

    name = "hidden-model"
    summary = "keeps the model from the active party; explanations by contribution in its place if asked for"
    reference = Reference("luo2021", "section VII")
    changes = frozenset({"reveal"})

    explanations: bool = setting(False, "reveal what each column contributed to each prediction instead")

    def configure(self, federation: Federation) -> Federation:
        return federation.with_settings(reveal="contributions" if self.explanations else "nothing")
