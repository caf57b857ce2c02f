"""A model of ours as a torch function, through which an error can be propagated back to the inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fedleak.core.errors import MissingFromViewError
from fedleak.models.linear import LinearModel, Link
from fedleak.models.model import Model
from fedleak.models.network import NetworkModel

TorchFunction = Callable[[Any], Any]


def differentiable(torch: Any, model: Model) -> TorchFunction:
    """Confidences of whole rows. The attacker sees confidences, so they are what is matched, never logits."""
    if isinstance(model, LinearModel):
        layers = [(model.weights, model.bias)]
    elif isinstance(model, NetworkModel):
        layers = list(zip(model.weights, model.biases, strict=True))
    else:
        raise MissingFromViewError(f"no gradient passes through {type(model).__name__}; it needs a surrogate")
    tensors = [(torch.tensor(w, dtype=torch.float32), torch.tensor(b, dtype=torch.float32)) for w, b in layers]
    link = model.link

    def confidences(rows: Any) -> Any:
        hidden = rows
        for weight, bias in tensors[:-1]:
            hidden = torch.relu(hidden @ weight.T + bias)
        scores = hidden @ tensors[-1][0].T + tensors[-1][1]
        if link is Link.SIGMOID:
            return torch.cat([torch.sigmoid(-scores), torch.sigmoid(scores)], dim=1)
        return torch.sigmoid(scores) if link is Link.SIGMOID_EACH else torch.softmax(scores, dim=1)

    return confidences
