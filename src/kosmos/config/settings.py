"""Everything that can be configured, in one frozen object. Below `app.py` values are passed, not this."""

from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, StringConstraints

Url = Annotated[str, StringConstraints(min_length=1, max_length=2000)]


def _listed(value: Any) -> Any:
    """A text with commas is a list: environment variables know nothing else."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Ports = Annotated[tuple[int, ...], BeforeValidator(_listed)]


class Settings(BaseModel):
    """Each field is a key of `kosmos.toml` and, upper-cased behind `KOSMOS_`, an environment variable."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    home: Path = Field(
        default=Path("~/.kosmos"), description="Folder that holds everything of the embedded mode."
    )
    database_url: Url | None = Field(
        default=None,
        description="`sqlite:///path` or `postgresql://user@host/name`. Default: a SQLite file in the home.",
    )
    blobs_url: Url | None = Field(
        default=None,
        description="A folder, or `s3://bucket/prefix?endpoint=https://…`. Default: a folder in the home.",
    )
    index_url: Url | None = Field(
        default=None,
        description="A folder, `postgresql://user@host/name` (with pgvector), or `milvus://host:19530` "
        "(`http://…`, `https://…` or `….db` for Milvus Lite). Default: a folder in the home.",
    )
    s3_access_key: str | None = Field(default=None, description="Access key for an `s3://` blob store.")
    s3_secret_key: SecretStr | None = Field(default=None, description="Secret key for an `s3://` blob store.")
    secret_key: SecretStr | None = Field(
        default=None,
        description="Key that encrypts credentials (32 bytes, URL-safe base64). "
        "Default: the file `secret.key` in the home.",
    )
    token: SecretStr | None = Field(
        default=None, description="API token of the command line. Default: the file `token` in the home."
    )
    host: str = Field(default="127.0.0.1", description="Address that `kosmos serve` binds to.")
    port: int = Field(default=8420, ge=1, le=65535, description="Port that `kosmos serve` binds to.")
    max_body_bytes: int = Field(
        default=10 * 2**20, ge=1024, description="Largest accepted request body, in bytes."
    )
    provider_timeout: float = Field(
        default=60.0, gt=0, le=3600, description="Seconds to wait for a model provider."
    )
    max_file_bytes: int = Field(
        default=200 * 2**20, ge=1024, description="Largest file that is taken, in bytes."
    )
    convert_processes: int = Field(default=2, ge=1, le=64, description="Conversions at once.")
    convert_timeout: float = Field(
        default=300.0, gt=0, le=86400, description="Seconds until a conversion is given up."
    )
    convert_memory_bytes: int = Field(
        default=800 * 2**20, ge=64 * 2**20, description="Memory that one conversion may use, in bytes."
    )
    fetch_allow_hosts: Names = Field(
        default=(),
        description="Hosts or networks that may be fetched although not public, with commas between.",
    )
    fetch_ports: Ports = Field(default=(80, 443), description="Ports that may be fetched from.")
    fetch_proxy: SecretStr | None = Field(default=None, description="`http://host:port` of a proxy.")
    fetch_max_bytes: int = Field(default=64 * 2**20, ge=1024, description="Largest page or file fetched.")
    fetch_timeout: float = Field(default=60.0, gt=0, le=3600, description="Seconds that one fetch may take.")
    encoder: Annotated[str, StringConstraints(min_length=1, max_length=1000)] = Field(
        default="builtin",
        description="What makes dense vectors: `builtin`, `none`, the path of a model folder, "
        "a name of `kosmos models list`, or an EMBEDDING credential of the instance.",
    )
    encoder_threads: int = Field(
        default=0,
        ge=0,
        le=256,
        description="Cores that a local encoder may use. 0: all that there are, at most 4.",
    )
    search_engine: Literal["tavily", "bocha"] | None = Field(
        default=None, description="Who searches the web for agents that may."
    )
    search_engine_api_key: SecretStr | None = Field(default=None, description="Key of the search engine.")
    search_engine_url: Url | None = Field(
        default=None, description="Address of the search engine. Default: its own."
    )
    mcp_config: Path | None = Field(
        default=None, description="File with MCP servers. Default: `mcp_config.json` in the home."
    )
    redis_url: Url | None = Field(
        default=None,
        description="`redis://host:6379/0`. It wakes workers of `kosmos worker --dramatiq`, lets processes "
        "wake each other, counts rate limits for all of them and keeps summaries of papers.",
    )
    worker_slots: int = Field(
        default=4,
        ge=0,
        le=256,
        description="How many jobs one process works on at once. 0: `kosmos serve` works on none.",
    )
    worker_nice: int = Field(
        default=10,
        ge=0,
        le=19,
        description="By how much `kosmos worker` steps back for others on its machine, as `nice` counts.",
    )
    reranker: Path | None = Field(
        default=None, description="Folder of a local reranker: `model.onnx` and `tokenizer.json`."
    )
    metrics_token: SecretStr | None = Field(
        default=None,
        description="Token that may read `/metrics` and nothing else. Administrators' tokens may as well.",
    )
    otel_endpoint: Url | None = Field(
        default=None,
        description="Where traces go (OTLP over HTTP): `http://127.0.0.1:4318/v1/traces`. Default: nowhere.",
    )
    rate_limit: int = Field(
        default=0, ge=0, description="Requests that one token may make in a minute. 0: as many as it likes."
    )
    quota_space_documents: int | None = Field(default=None, ge=0, description="Most documents of a space.")
    quota_space_bytes: int | None = Field(
        default=None, ge=0, description="Most bytes of originals of a space."
    )
    quota_space_tokens_per_day: int | None = Field(
        default=None, ge=0, description="Most tokens that jobs of a space may take of models in a day (UTC)."
    )
    quota_user_documents: int | None = Field(
        default=None, ge=0, description="Most documents in all spaces that a user owns."
    )
    quota_user_bytes: int | None = Field(
        default=None, ge=0, description="Most bytes of originals in all spaces that a user owns."
    )
    quota_user_tokens_per_day: int | None = Field(
        default=None,
        ge=0,
        description="Most tokens that a user's runs and the jobs of their spaces may take in a day (UTC).",
    )
    log_level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(lambda text: str(text).upper())
    ] = Field(default="WARNING", description="Least severe log line that is written.")
    log_format: Literal["json", "text"] = Field(default="json", description="Form of log lines.")

    @property
    def database(self) -> str:
        """The database URL in force."""
        # Quoted: a `?` or `%` in the path of the home is part of the path.
        return self.database_url or f"sqlite:///{quote(str(self.home / 'kosmos.db'))}"

    @property
    def blobs(self) -> str:
        """The blob store URL in force."""
        return self.blobs_url or str(self.home / "blobs")

    @property
    def index(self) -> str:
        """The folder or URL of the index in force."""
        return self.index_url or str(self.home / "index")

    @property
    def mcp_file(self) -> Path:
        """The file of MCP servers in force."""
        return (self.mcp_config or self.home / "mcp_config.json").expanduser()

    @property
    def models_folder(self) -> Path:
        """Where model folders get their names."""
        return self.home / "models"

    @property
    def cache_folder(self) -> Path:
        """What can be made again at any time."""
        return self.home / "cache"

    @property
    def token_file(self) -> Path:
        """Where the local owner's token lies."""
        return self.home / "token"

    @property
    def key_file(self) -> Path:
        """Where the encryption key lies unless `secret_key` gives it."""
        return self.home / "secret.key"

    @property
    def embedded(self) -> bool:
        """Whether the tables are in the SQLite file of the home, which Kosmos looks after by itself."""
        return self.database.startswith("sqlite")
