"""The merchant's server-side client: the interface of the service over HTTP, and nothing else.

The service has SDKs for web, Android and iOS and none for a backend; this is that client, for the
sandbox and for the real service alike. Amounts of intents are Decimals in kwacha, amounts of charges
whole numbers; no float is accepted.
"""

from workbench.client.core import PaymentsClient

__all__ = ["PaymentsClient"]
