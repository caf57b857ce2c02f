"""Shared by the defenses of the prediction protocol: hooks of the joint computation."""

from __future__ import annotations

from typing import Any

from fedleak.core import steps
from fedleak.core.hooks import Hook, HookKind


def at_confidences(act: Any) -> tuple[Hook[Any], ...]:
    """A hook on the confidences as they leave the joint computation."""
    return (Hook(steps.CONFIDENCES, HookKind.SEND, steps.JOINT_COMPUTATION, act),)
