"""What the tasks work with. Built by the composition root."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kosmos.agents.react.checkpoints import Checkpoints
from kosmos.bells import Bell
from kosmos.blobs.contract import Blobs
from kosmos.db import Database
from kosmos.domain.clock import Clock
from kosmos.encoders.catalog import BUILTIN
from kosmos.encoders.contract import Encoder
from kosmos.encoders.shelf import EncoderShelf
from kosmos.ingest.conversion import ConversionHost
from kosmos.jobs.waking import Waker
from kosmos.llm.secrets import SecretBox, passing_box
from kosmos.net import Fetcher
from kosmos.retrieval.reranking import Reranker
from kosmos.store.contract import Store
from kosmos.tasks.navigating import SourceCache
from kosmos.tasks.quotas import QuotaBook
from kosmos.tasks.run_hall import RunHall
from kosmos.tasks.summary_stores import RedisSummaries
from kosmos.tools.contract import Tool
from kosmos.tools.mcp_pool import McpPool
from kosmos.tools.web_search import WebSearch


@dataclass(frozen=True, slots=True)
class Workbench:
    """The engines in use."""

    db: Database
    blobs: Blobs
    store: Store
    clock: Clock
    rng: random.Random = field(default_factory=random.Random)  # chooses among equals, hides nothing
    waker: Waker = field(default_factory=Waker)
    converter: ConversionHost = field(default_factory=ConversionHost)
    fetcher: Fetcher = field(default_factory=Fetcher)
    box: SecretBox = field(default_factory=passing_box)  # opens the keys of credentials
    provider_seconds: float = 60.0
    sources: SourceCache = field(default_factory=SourceCache)  # what links may lead to
    encoder: Encoder | None = None  # for spaces that have no other; None: there are sparse routes only
    encoder_setting: str = BUILTIN  # what it is called in the settings
    encoders: EncoderShelf = field(default_factory=EncoderShelf)  # those of spaces that have another
    no_encoder: str = ""  # why there is none, where one was wanted
    reranker: Reranker | None = None  # a local model that reads question and passage together
    runs: RunHall = field(default_factory=RunHall)
    web_search: WebSearch | None = None  # that of the instance
    checkpoints: Checkpoints = field(default_factory=Checkpoints)  # of runs of the graph
    mcp: McpPool = field(default_factory=lambda: McpPool(Path("/nonexistent"), Path("/nonexistent")))
    ops_tools: Sequence[Tool] = ()  # that the graph may call beside those over documents
    summaries: RedisSummaries | None = None  # None: those of the database
    quotas: QuotaBook = field(default_factory=QuotaBook)

    @property
    def bell(self) -> Bell:
        """The bell of the process, which outlives this."""
        return self.runs.bell

    def wake(self, job_ids: Sequence[str]) -> None:
        """Let workers look at these jobs now."""
        self.waker.wake(job_ids)

    async def close(self) -> None:
        """Let go of processes and connections."""
        await self.runs.close()
        await self.mcp.close()
        await self.checkpoints.close()
        if self.summaries is not None:
            await self.summaries.close()
        if self.encoder is not None:
            await self.encoder.close()
        await self.encoders.close()
        await self.converter.close()
        await self.fetcher.close()
        await self.blobs.close()
        await self.store.close()
        await self.db.close()
