"""Run by Alembic: takes the connection that `kosmos.db.migrate` opened."""

from alembic import context

from kosmos.db.tables_agents import agent

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=agent.metadata,
    render_as_batch=connection.dialect.name == "sqlite",
    transaction_per_migration=False,
)
context.run_migrations()
