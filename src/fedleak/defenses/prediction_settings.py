"""Shared by the defenses of the prediction protocol: hooks of the joint computation, and settings it must have."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from fedleak.core import steps
from fedleak.core.errors import InputError
from fedleak.core.federation import Federation
from fedleak.core.hooks import Hook, HookKind


def at_confidences(act: Any) -> tuple[Hook[Any], ...]:
    """A hook on the confidences as they leave the joint computation."""
    return (Hook(steps.CONFIDENCES, HookKind.SEND, steps.JOINT_COMPUTATION, act),)


def with_setting(federation: Federation, name: str, value: object) -> Federation:
    """The federation with one setting changed; an error where its protocol has no such setting."""
    if name not in {field.name for field in fields(federation.settings)}:
        raise InputError(
            f"a defense that changes {name} must go with a protocol that has it; got {federation.protocol}"
        )
    return federation.with_settings(**{name: value})
