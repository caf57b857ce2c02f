"""What an audit is going to want is started while its scenario is still read and planned, where a core is free."""

from __future__ import annotations

from fedleak.auditing.estimate import IDEAL
from fedleak.auditing.runs_ahead import Standby
from fedleak.crypto.cores import cores
from fedleak.door.given import Given, GivenCapture
from fedleak.report.finding_journal import Order
from fedleak.trial.isolation import can_isolate, shared_isolation


def started_early(wanted: Given | GivenCapture, order: Order) -> Standby:
    """The server of attack processes, and under a real cipher a process for each run beside the first."""
    n_free = (order.jobs or cores()) - 1
    if n_free < 1 or isinstance(wanted, GivenCapture):
        return Standby(0)
    if not order.in_process and can_isolate():
        shared_isolation()
    is_real = getattr(wanted.scenario.settings, "cipher", IDEAL) != IDEAL
    return Standby(min(n_free, len(wanted.scenario.defenses)) if is_real else 0)
