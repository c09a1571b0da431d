"""The one way out: every outbound request of the product is checked, pinned and limited here."""

from kosmos.net.client import Fetched, Fetcher, Validators
from kosmos.net.policy import Limits, Policy
from kosmos.net.transport import GuardedTransport, guarded_transport

__all__ = ["Fetched", "Fetcher", "GuardedTransport", "Limits", "Policy", "Validators", "guarded_transport"]
