"""Tables, migrations and queries. Every query takes a connection; `Database` hands those out."""

from kosmos.db.engine import Database

__all__ = ["Database"]
