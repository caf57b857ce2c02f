"""Small federations of layered networks for tests, made in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from federations import vertical
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.protocols.networks.horizontal_network import HorizontalNetworkSettings
from fedleak.protocols.networks.network_settings import CutSettings

QUICK = {"rounds": 4, "batch_size": 5, "trained": False, "learning_rate": 0.1}
TABLE_BOTTOM = ("linear 6", "activation sigmoid", "linear 3")
PICTURE_BOTTOM = ("convolution 3 3 padding=1", "activation sigmoid", "pooling max 2", "flatten", "linear 6")


def server(name: str = "server") -> Party:
    return Party(name, Role.SERVER, (), Slice(np.arange(0), np.zeros((0, 0))))


def cut_table(widths: dict[str, int] | None = None, *, n_rows: int = 24, seed: int = 0, **changes) -> Federation:
    """Gaussian rows; the party "bank" has the labels."""
    settings = CutSettings(**{**QUICK, "bottom": TABLE_BOTTOM, **changes})
    whole = vertical(
        widths or {"bank": 3, "fintech": 4}, settings, n_rows=n_rows, seed=seed, protocol="vertical-network"
    )
    return replace(whole, parties=(*whole.parties, server()), max_row_norm=None)


def cut_pictures(*, n_rows: int = 12, side: int = 4, channels: int = 2, seed: int = 0, **changes) -> Federation:
    """Random pictures in two halves, three classes; the party "bank" has the labels."""
    rng = np.random.default_rng(seed)
    settings = CutSettings(**{**QUICK, "bottom": PICTURE_BOTTOM, **changes})
    labels = np.arange(n_rows) % 3
    parties = []
    for name, role in (("bank", Role.ACTIVE), ("fintech", Role.PASSIVE)):
        pixels = rng.integers(0, 256, (n_rows, side, side, channels)) / 255
        names = tuple(f"{name} pixel {i}" for i in range(side * side * channels))
        held = Slice(np.arange(100, 100 + n_rows), pixels, labels if role is Role.ACTIVE else None)
        parties.append(Party(name, role, names, held))
    return Federation("vertical-network", (*parties, server()), settings)


def split(federation: Federation) -> Federation:
    """The same parties without a server, as a split network."""
    return replace(federation, protocol="split-network", parties=federation.parties[:-1])


def row_clients(*, n_clients: int = 2, n_rows: int = 8, shape: tuple[int, ...] = (5,), seed: int = 0, **changes):
    """Clients with rows of their own, three classes."""
    settings = HorizontalNetworkSettings(
        **{**QUICK, "layers": ("flatten", "linear 6", "activation sigmoid"), **changes}
    )
    rng = np.random.default_rng(seed)
    names = tuple(f"x{i}" for i in range(int(np.prod(shape))))
    clients = [
        Party(
            f"client {number}",
            Role.ACTIVE,
            names,
            Slice(np.arange(n_rows) + 100 * number, rng.random((n_rows, *shape)), np.arange(n_rows) % 3),
        )
        for number in range(n_clients)
    ]
    return Federation("horizontal-network", (*clients, server()), settings)
