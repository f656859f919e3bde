"""Describes the service: an OpenAPI 3.1 document and pages for people, all usable offline."""
