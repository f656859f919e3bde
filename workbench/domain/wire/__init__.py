"""Bodies and queries as structs, shared by the client and the API; one module for each topic.

Fields that the interface shows are marked as documented in its OpenAPI description; the others are
assumed, as the register of gaps says.
"""
