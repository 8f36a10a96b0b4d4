"""A setting of DP-ADMM, as parameters."""

from __future__ import annotations

from typing import Any

SETTING: dict[str, Any] = {
    "n_records": 32561,
    "rounds": 100,
    "gradient_bound": 1,
    "dual_start": "zero",
}
