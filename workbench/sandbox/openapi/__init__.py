"""The service described: OpenAPI 3.1 from the tables that route, and the pages for people, all of it offline."""

from workbench.sandbox.openapi.document import document

__all__ = ["document"]
