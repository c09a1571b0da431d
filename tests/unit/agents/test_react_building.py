"""`build_react_agent` with models and retrievers as people have them."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from kosmos import build_react_agent
from kosmos.agents.react.building import read_message
from kosmos.errors import InvalidInput

from .graphs import ANALYSIS, Shell, reading, scripted

QA = {**ANALYSIS, "target_operation": "KNOWLEDGE_QA"}
LOOK = {"reasoning": "", "action": "RETRIEVE", "search_queries": ["pending"]}
GOOD = {"reasoning": "", "status": "PASS", "next_step": "TO_EXPRESSION", "evidence": ["[1]"]}
FORMS = {"problem_analysis": QA, "execution_plan": LOOK, "self_evaluation": GOOD}


class Chat:
    """A chat model of LangChain, as far as it is used."""

    def __init__(self, tools: list[Any] | None = None) -> None:
        self.tools = tools

    def bind_tools(self, tools: list[Any], **_: Any) -> "Chat":
        return Chat(tools)

    async def ainvoke(self, talk: list[tuple[str, str]]) -> Any:
        if self.tools is None:
            return SimpleNamespace(content="Memory is short [1].", tool_calls=[])
        name = self.tools[0]["function"]["name"]
        return SimpleNamespace(content="", tool_calls=[{"name": name, "args": FORMS[name], "id": "1"}])


class Plain:
    """One that cannot call tools."""

    async def ainvoke(self, talk: list[tuple[str, str]]) -> Any:
        for name, form in FORMS.items():
            needle = {"problem_analysis": "target_operation", "execution_plan": "search_queries"}.get(
                name, "next_step"
            )
            if "Answer with one JSON object" in talk[-1][1] and f'"{needle}": {{' in talk[-1][1]:
                return SimpleNamespace(content=json.dumps(form))
        return SimpleNamespace(content="Memory is short [1].")


class Retriever:
    def invoke(self, query: str) -> list[Any]:
        texts = ("Pods stay pending when memory is short.", "Something else.")
        return [SimpleNamespace(page_content=text, metadata={"source": "doc.md"}) for text in texts]


class Backwards:
    def score(self, query: str, texts: list[str]) -> list[float]:
        return [float(at) for at, _ in enumerate(texts)]


@pytest.mark.parametrize("llm", [Chat(), Plain()], ids=["tools", "plain"])
def test_the_call_of_the_design(llm: Any) -> None:
    app = build_react_agent(llm, Retriever(), reranker=Backwards(), tool_descriptions="none")
    result = app.invoke({"messages": [("user", "我的Pod一直处于Pending状态")]})
    assert result["messages"][-1].content == "Memory is short [1]."
    assert result["retrieval_attempts"] == 1
    assert [item.page_content for item in result["retrieved_docs"]][-1].startswith("Pods stay pending")
    assert result["analysis"].target_operation == "KNOWLEDGE_QA"


async def test_a_change_is_never_made_without_approvals() -> None:
    shell = Shell()
    plan = {
        "reasoning": "",
        "action": "TOOL_USE",
        "tool_name": "kubectl",
        "tool_args": {"argv": ["delete", "pod", "x"]},
    }
    app = build_react_agent(reading(scripted(execution_plan=[plan])), tools=[shell.tool()])
    result = await app.ainvoke({"messages": [HumanMessage(content="Delete x.")]})
    assert result["__interrupt__"]["argv"] == ["kubectl", "delete", "pod", "x"]
    assert shell.ran == []


def test_what_is_no_talk() -> None:
    app = build_react_agent(Chat())
    for wrong in ({}, {"messages": [("assistant", "hi")]}, {"messages": [("tool", "hi")]}):
        with pytest.raises(InvalidInput):
            app.invoke(wrong)
    assert read_message({"role": "user", "content": "a"}).content == "a"
