"""The sample plant store, and its own description in OpenAPI 3.1.0."""

from typing import Any

from workbench.domain import wire
from workbench.sandbox.service.lists import Caller
from workbench.sandbox.store import Transaction


def create(tx: Transaction, caller: Caller, body: wire.NewPlant) -> wire.Plant:  # noqa: ARG001  one signature
    """POST /plants: a plant to be; the answer is the plant without its id."""
    return wire.Plant(name=body.name, tag=body.tag)


_ERROR_CONTENT = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}

OPENAPI: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "Plant Store",
        "description": "A sample API with bearer authentication.",
        "version": "1.0.0",
        "license": {"name": "MIT", "identifier": "MIT"},
    },
    "servers": [{"url": "/"}],
    "security": [{"bearerAuth": []}],
    "paths": {
        "/plants": {
            "post": {
                "operationId": "createPlant",
                "summary": "Create a plant in the store",
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewPlant"}}},
                },
                "responses": {
                    "200": {
                        "description": "The plant",
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Plant"}}},
                    },
                    "400": {"description": "What is wrong with the body", "content": _ERROR_CONTENT},
                    "401": {"description": "No valid key or token"},
                },
            }
        }
    },
    "components": {
        "securitySchemes": {"bearerAuth": {"type": "http", "scheme": "bearer"}},
        "schemas": {
            "Plant": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "description": "Name of the plant"},
                    "tag": {"type": "string", "description": "Tag that specifies the type"},
                },
            },
            "NewPlant": {
                "allOf": [
                    {"$ref": "#/components/schemas/Plant"},
                    {
                        "type": "object",
                        "required": ["id"],
                        "properties": {
                            "id": {
                                "type": "integer",
                                "format": "int64",
                                "description": "Identification number of the plant",
                            }
                        },
                    },
                ]
            },
            "Error": {
                "type": "object",
                "required": ["error", "message"],
                "properties": {
                    "error": {"type": "integer", "format": "int32", "description": "Error code"},
                    "message": {"type": "string", "description": "Error text"},
                },
            },
        },
    },
}
