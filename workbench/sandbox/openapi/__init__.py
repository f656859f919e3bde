"""The service described: OpenAPI 3.1 from the tables that route, and the pages for people, all of it offline."""
