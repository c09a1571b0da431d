"""A real PDF through the whole chain: pages on chunks and hits, a figure with its line and caption."""

import io

import pytest

from kosmos.db import versions
from kosmos.domain.documents import DocumentStatus
from kosmos.domain.jobs import JobStatus
from kosmos.tasks.asking import search
from kosmos.tasks.extracts import read_origins
from kosmos.tasks.keeping import collect_garbage

from .pictures import seeing
from .scene import Scene

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
CAPTION = "Figure 1: A blue pump"


def _pdf(pages: int, *, figure_on: int) -> bytes:
    """A chapter on each page, one of them with a figure."""
    from PIL import Image
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen import canvas

    file = io.BytesIO()
    sheet = canvas.Canvas(file, pagesize=(595, 842), invariant=1)
    for page in range(1, pages + 1):
        sheet.setFont("Helvetica-Bold", 20)
        sheet.drawString(72, 770, f"Chapter {page}")
        sheet.setFont("Helvetica", 11)
        for line in range(12):
            sheet.drawString(72, 730 - 16 * line, f"Line {line} says that pump {page}00{line} is oiled.")
        if page == figure_on:
            sheet.drawImage(ImageReader(Image.new("RGB", (200, 120), (10, 90, 200))), 72, 350, 300, 150)
            sheet.drawString(72, 330, CAPTION)
        sheet.showPage()
    sheet.save()
    return file.getvalue()


async def test_pages_and_figures_of_a_pdf(scene: Scene) -> None:
    async with seeing(scene) as server:
        document, _ = await scene.add(_pdf(3, figure_on=2), "manual.pdf")
        assert len(server.requests) == 1
    assert (document.status, document.filetype) == (DocumentStatus.READY, "pdf")
    assert {job.status for job in await scene.jobs(document.id)} == {JobStatus.COMPLETED}

    text = (await scene.bench.blobs.read(document.canonical_sha256 or "")).decode()
    lines = text.split("\n")
    chunks = await scene.chunks(document.id)
    pages = {chunk.summary: chunk.metadata["page"] for chunk in chunks if chunk.level > 0}
    assert pages == {"Chapter 1": 1, "Chapter 2": 2, "Chapter 3": 3}
    for page in (1, 2, 3):
        hit = (await search(scene.bench, scene.owner, f"pump {page}007"))[0]
        assert (hit.page, f"pump {page}007" in hit.text) == (page, True)

    (figure,) = await scene.assets(document)
    assert figure.caption == CAPTION
    assert lines[figure.line - 1] == f"![{CAPTION}](asset:{figure.sha256})"
    assert figure.description
    async with scene.bench.db.read() as conn:
        version = await versions.get_version(conn, document.id, document.live_generation)
    assert version is not None
    assert [origin.place for origin in await read_origins(scene.bench, version.extract_sha256)] == [1, 2, 3]
    assert await collect_garbage(scene.bench) == 0
    await scene.check_served(text, "manual.pdf")
    await scene.check_tidy()

    newer, _ = await scene.add(_pdf(4, figure_on=4), "manual.pdf")
    kept = {chunk.id for chunk in chunks} & {chunk.id for chunk in await scene.chunks(newer.id)}
    assert len(kept) >= 4  # chapters 1 and 3 are as they were
    assert [item.caption for item in await scene.assets(newer)] == [CAPTION]
    assert {chunk.metadata["page"] for chunk in await scene.chunks(newer.id)} == {1, 2, 3, 4}
    await scene.check_tidy()


async def test_a_lost_extract_is_made_again(scene: Scene) -> None:
    document, _ = await scene.add(_pdf(1, figure_on=0), "manual.pdf")
    async with scene.bench.db.read() as conn:
        version = await versions.get_version(conn, document.id, document.live_generation)
    assert version is not None
    assert version.extract_sha256 is not None
    await scene.bench.blobs.remove(version.extract_sha256)
    await scene.add(_pdf(1, figure_on=0), "manual.pdf")
    assert await scene.bench.blobs.exists(version.extract_sha256)
    await scene.check_tidy()
