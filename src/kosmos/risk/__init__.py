"""How dangerous a command is, read from its exact argv; pure functions over values."""

from kosmos.risk.calls import file_argv
from kosmos.risk.digest import digest
from kosmos.risk.engine import assess, assess_line
from kosmos.risk.levels import Assessment, RiskLevel, annotated_level, raise_risk

__all__ = [
    "Assessment",
    "RiskLevel",
    "annotated_level",
    "assess",
    "assess_line",
    "digest",
    "file_argv",
    "raise_risk",
]
