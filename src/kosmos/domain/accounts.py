"""Users, tokens, roles: who is asking, and how far they may go."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Role(StrEnum):
    """What a member may do in a space; each role includes those before it."""

    VIEWER = "viewer"
    EDITOR = "editor"
    OWNER = "owner"

    @property
    def rank(self) -> int:
        """Higher means more."""
        return list(Role).index(self)


class Scope(StrEnum):
    """How far a token reaches, whatever its user may do; each scope includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """Higher means more."""
        return list(Scope).index(self)


@dataclass(frozen=True, slots=True)
class User:
    """A person or program that owns things."""

    id: str
    name: str
    is_admin: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Token:
    """An API token as it may be shown; the secret itself is never stored."""

    id: str
    user_id: str
    name: str
    scope: Scope
    expires_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is asking: a user through a token of some scope."""

    user: User
    scope: Scope
    token_id: str


@dataclass(frozen=True, slots=True)
class Member:
    """A user's role in a space."""

    space_id: str
    user_id: str
    user_name: str
    role: Role
