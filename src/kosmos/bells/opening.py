"""The bell that fits the engines of an instance."""

from kosmos.bells.bell import Bell
from kosmos.bells.postgres import PostgresLine
from kosmos.bells.redis_line import RedisLine


def open_bell(database_url: str, redis_url: str | None) -> Bell:
    """Over Redis where there is one, else over PostgreSQL; with neither it rings in this process alone."""
    if redis_url is not None:
        return Bell(RedisLine(redis_url))
    if database_url.startswith("postgres"):
        return Bell(PostgresLine("postgresql://" + database_url.split("://", 1)[1]))
    return Bell()
