"""Runs of the loop over real tables, a real index and a scripted model behind real HTTP."""

from kosmos.doubles.model_server import ModelServer

from .scene import Scene
from .talks import PUMP, answering, final, number_of, said, talk_with, use_model


async def test_a_question_is_answered_with_citations(scene: Scene) -> None:
    document, _ = await scene.add(PUMP, "pump.md")

    def write(body: dict[str, object]) -> str:
        oil, rotation = number_of(body, "oiled"), number_of(body, "轮换")
        return f"Every 40 days [{oil}]. 证书每九十天轮换一次[{rotation}]。"

    async with ModelServer(answering(write)) as server:
        await use_model(scene, server)
        talk = await talk_with(scene)
        events = await talk.ask("How often is the pump oiled?")
    answer = final(events)
    lines = PUMP.split("\n")
    assert said(events) == answer["answer"]
    assert answer["strategy"] == "loop"
    for item in answer["citations"]:
        assert item["document_id"] == document.id
        assert item["version"] == document.version
        assert item["quote"] in "\n".join(lines[item["start_line"] - 1 : item["end_line"]])
    assert {item["quote"] for item in answer["citations"]} == {
        "The blue pump must be oiled every 40 days.",
        "叶子证书每九十天轮换一次，由正式值班操作。",
    }
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert talk.types()[0] == "run_start"
    assert talk.types()[-1] == "run_end"
    assert all(claim["problem"] is None for claim in answer["claims"])
    assert answer["usage"]["prompt_tokens"] > 0
