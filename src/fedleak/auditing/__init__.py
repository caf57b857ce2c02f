"""Scenario, planner, runner, advisor."""
