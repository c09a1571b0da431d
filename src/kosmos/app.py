"""The composition root: builds everything from Settings. Only this module and tests construct engines."""

import asyncio
import getpass
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from kosmos.accounts.people import make_first_user
from kosmos.accounts.tokens import authenticate
from kosmos.agents.react.checkpoints import Checkpoints
from kosmos.bells import Bell, open_bell, topics
from kosmos.blobs.contract import Blobs
from kosmos.blobs.opening import open_blobs
from kosmos.config import Settings
from kosmos.db import Database
from kosmos.db.migrate import ensure_current
from kosmos.domain.accounts import Principal
from kosmos.domain.clock import Clock, system_clock
from kosmos.domain.names import clean_name
from kosmos.domain.quotas import Quota, Quotas
from kosmos.encoders.opening import Quarters, open_encoder
from kosmos.encoders.shelf import EncoderShelf
from kosmos.errors import ConfigError, InvalidInput, Unauthenticated
from kosmos.ingest.conversion import ConversionHost
from kosmos.ingest.limits import Limits
from kosmos.jobs.waking import Wake
from kosmos.llm.secrets import SecretBox, open_box, write_private
from kosmos.net import Fetcher, Policy
from kosmos.net import Limits as FetchLimits
from kosmos.retrieval.cross_encoder import CrossEncoder
from kosmos.sessions.streams import Streams
from kosmos.store.opening import open_store
from kosmos.tasks.agents import add_shipped_agents
from kosmos.tasks.quotas import QuotaBook
from kosmos.tasks.run_hall import RunHall
from kosmos.tasks.summary_stores import RedisSummaries
from kosmos.tasks.workbench import Workbench
from kosmos.telemetry.traces import trace_to
from kosmos.tools.mcp_pool import McpPool
from kosmos.tools.web_search import SearchEngine, WebSearch

log = logging.getLogger(__name__)
Fill = Callable[[Database, Blobs], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class App:
    """Kosmos, open and ready: the engines, the key box and the settings it was built from."""

    settings: Settings
    bench: Workbench
    box: SecretBox
    streams: Streams = field(default_factory=Streams)

    async def local_user(self) -> Principal:
        """Who the command line speaks for: the owner of KOSMOS_TOKEN or of the token file."""
        given = self.settings.token
        text = given.get_secret_value() if given else await asyncio.to_thread(read_token, self.settings)
        async with self.bench.db.read() as conn:
            return await authenticate(conn, text, self.bench.clock())


@asynccontextmanager
async def open_app(
    settings: Settings, *, clock: Clock = system_clock, bell: Bell | None = None
) -> AsyncIterator[App]:
    """Open Kosmos: make the home, bring the tables up to date, make the first owner; close it all after.

    `bell` is that of the process, where it has one already.
    """
    async with open_bench(settings, clock=clock, bell=bell) as bench:
        await _welcome(settings, bench)
        yield App(settings=settings, bench=bench, box=bench.box)


@asynccontextmanager
async def open_bench(
    settings: Settings, *, clock: Clock = system_clock, fill: Fill | None = None, bell: Bell | None = None
) -> AsyncIterator[Workbench]:
    """The engines alone; `fill` puts rows and bytes into new ones before anything else looks at them."""
    make_home(settings)
    if settings.otel_endpoint is not None:
        trace_to(settings.otel_endpoint)
    db = Database(settings.database)
    secret = settings.s3_secret_key.get_secret_value() if settings.s3_secret_key else None
    blobs = open_blobs(settings.blobs, access_key=settings.s3_access_key, secret_key=secret)
    lent, bell = bell is not None, bell or open_bell(settings.database, settings.redis_url)
    bench = Workbench(
        db=db,
        blobs=blobs,
        store=open_store(settings.index),
        clock=clock,
        converter=ConversionHost(processes=settings.convert_processes, limits=_limits(settings)),
        fetcher=Fetcher(_policy(settings)),
        provider_seconds=settings.provider_timeout,
        reranker=CrossEncoder(settings.reranker.expanduser()) if settings.reranker else None,
        web_search=_web_search(settings),
        checkpoints=Checkpoints(_checkpoints(settings)),
        quotas=QuotaBook(_quotas(settings)),
        mcp=McpPool(settings.mcp_file, settings.home / "mcp_trust.json", _policy(settings)),
        runs=RunHall(bell),
    )
    bench.waker.add(_ring_for(bell))
    try:
        if fill is not None:
            await fill(db, blobs)
        await ensure_current(db, upgrade=settings.embedded or fill is not None)
        key = settings.secret_key.get_secret_value() if settings.secret_key else None
        bench = replace(bench, box=open_box(key, settings.key_file))
        bench = await _with_encoder(settings, bench)
        if settings.redis_url is not None:
            bench.waker.add(_redis_listener(settings.redis_url))
            bench = replace(bench, summaries=RedisSummaries(settings.redis_url, clock))
        yield bench
    finally:
        await bench.close()
        if not lent:
            await bell.close()


def _ring_for(bell: Bell) -> Wake:
    """Lets workers of every process look at new jobs, and those look who follow one of them."""

    def listener(job_ids: Sequence[str]) -> None:
        bell.ring(topics.DUE, topics.JOBS, *map(topics.job, job_ids))

    return listener


def _checkpoints(settings: Settings) -> str:
    """Where runs of the graph are kept: beside the tables."""
    return f"sqlite:///{settings.home / 'checkpoints.db'}" if settings.embedded else settings.database


def _limits(settings: Settings) -> Limits:
    """What one conversion may use."""
    return Limits(
        original_bytes=settings.max_file_bytes,
        memory_bytes=settings.convert_memory_bytes,
        cpu_seconds=int(settings.convert_timeout) or 1,
        seconds=settings.convert_timeout,
    )


def _quotas(settings: Settings) -> Quotas:
    """What the instance grants."""
    space = Quota(
        settings.quota_space_documents, settings.quota_space_bytes, settings.quota_space_tokens_per_day
    )
    user = Quota(settings.quota_user_documents, settings.quota_user_bytes, settings.quota_user_tokens_per_day)
    return Quotas(space, user)


def _policy(settings: Settings) -> Policy:
    """What may be fetched."""
    limits = FetchLimits(
        wire_bytes=settings.fetch_max_bytes,
        content_bytes=settings.fetch_max_bytes,
        seconds=settings.fetch_timeout,
    )
    return Policy(
        allow_hosts=tuple(settings.fetch_allow_hosts),
        ports=frozenset(settings.fetch_ports),
        proxy=settings.fetch_proxy.get_secret_value() if settings.fetch_proxy else None,
        limits=limits,
    )


def quarters_of(settings: Settings) -> Quarters:
    """Where local models live and what they may use."""
    return Quarters(
        models=settings.models_folder,
        cache=settings.cache_folder,
        threads=settings.encoder_threads,
        seconds=settings.provider_timeout,
    )


async def _with_encoder(settings: Settings, bench: Workbench) -> Workbench:
    """The bench with its encoder. Without one everything works by the sparse routes: it stops no start."""
    quarters = quarters_of(settings)
    shelf = EncoderShelf(lambda setting: open_encoder(setting, quarters, db=bench.db, box=bench.box))
    bench = replace(bench, encoder_setting=settings.encoder, encoders=shelf)
    try:
        opened = await open_encoder(settings.encoder, quarters, db=bench.db, box=bench.box)
        return replace(bench, encoder=opened)
    except ConfigError as error:
        reason = f"{error.message} {error.remedy or ''}".strip()
        log.info("dense search is off: %s", reason)
        return replace(bench, no_encoder=reason)


def _web_search(settings: Settings) -> WebSearch | None:
    """The search engine of the instance."""
    key = settings.search_engine_api_key
    if settings.search_engine is None or key is None:
        return None
    engine = SearchEngine(settings.search_engine)
    return WebSearch(engine, key.get_secret_value(), address=settings.search_engine_url)


def _redis_listener(url: str) -> Wake:
    """Sends the ids of new jobs to Dramatiq workers, beside whatever else goes on."""
    try:
        from kosmos.jobs.dramatiq_runner import make_broker, send
    except ImportError:
        raise ConfigError(
            "A Redis is configured, but Dramatiq is not installed.", remedy="Run: pip install 'kosmos[redis]'"
        ) from None
    broker = make_broker(url)

    def listener(job_ids: Sequence[str]) -> None:
        def report(done: "asyncio.Future[None]") -> None:
            if done.exception() is not None:
                log.warning("Redis cannot be reached; workers find new jobs by themselves")

        asyncio.get_running_loop().run_in_executor(None, send, broker, list(job_ids)).add_done_callback(
            report
        )

    return listener


def make_home(settings: Settings) -> None:
    """The home folder, private to its user, or ConfigError."""
    home = settings.home
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        usable = os.access(home, os.W_OK | os.X_OK)
    except OSError as error:
        raise _bad_home(settings, error.strerror or str(error)) from None
    if not usable:
        raise _bad_home(settings, "no permission to write")


def read_token(settings: Settings) -> str:
    """The text of the token file."""
    try:
        return settings.token_file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise Unauthenticated(
            f"There is no token in {settings.token_file}.",
            remedy="Set KOSMOS_TOKEN, or put a token of yours into that file.",
        ) from None


async def _welcome(settings: Settings, bench: Workbench) -> None:
    """At the very first start: a local owner, whose token lies in a file that only they can read."""
    async with bench.db.write() as conn:
        token = await make_first_user(conn, name=_login(), now=bench.clock())
        if token is not None:
            await add_shipped_agents(conn, bench.clock())
            # Before the commit: without the file nobody could ever sign in. A file of an earlier
            # database that is gone opens nothing any more.
            await asyncio.to_thread(_put_token, settings, token)
            log.info("first start: made the local owner", extra={"token_file": str(settings.token_file)})


def _put_token(settings: Settings, token: str) -> None:
    path = settings.token_file
    try:
        path.unlink(missing_ok=True)
        write_private(path, token + "\n")
    except OSError as error:
        raise ConfigError(
            f"The token file {path} cannot be written: {error.strerror or error}.",
            remedy="Move away what lies there.",
        ) from None


def _login() -> str:
    """The name of the local owner: the login name, where it can serve as one."""
    try:
        return clean_name(getpass.getuser())
    except (KeyError, OSError, InvalidInput):
        return "owner"


def _bad_home(settings: Settings, reason: str) -> ConfigError:
    return ConfigError(
        f"The home {settings.home} cannot be used: {reason}.",
        remedy="Set KOSMOS_HOME to a folder that you may write to.",
    )
