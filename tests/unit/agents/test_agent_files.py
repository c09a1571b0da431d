"""Agents as files."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.agents.files import dump_form, load_form, make_form, shipped_forms
from kosmos.domain.agents import AgentForm, Language, Workflow
from kosmos.errors import InvalidInput

NAMES = st.sampled_from(["search", "read", "mcp.k8s:get_pods"])
FORMS = st.builds(
    AgentForm,
    name=st.sampled_from(["知识助手", "on-call", "yes", "null", "1.5", "a: b # c"]),
    description=st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=40),
    system_prompt=st.lists(st.sampled_from(["line one", "  indented", "", "第二行: x", "# no comment"])).map(
        "\n".join
    ),
    model=st.none() | st.just("qwen3:8b"),
    allowed_tools=st.none() | st.lists(NAMES, unique=True).map(tuple),
    allowed_spaces=st.none() | st.just(("空间", "two")),
    chat_options=st.just({}) | st.just({"temperature": 0.2, "stop": ["a"]}),
    workflow=st.sampled_from(Workflow),
    step_limit=st.integers(1, 50),
    language=st.sampled_from(Language),
)


@settings(deadline=None)
@given(FORMS)
def test_what_is_written_is_read_back(form: AgentForm) -> None:
    assert load_form(dump_form(form)) == form


def test_the_agents_that_come_with_it() -> None:
    forms = {form.name: form for form in shipped_forms()}
    assert set(forms) == {"knowledge assistant", "literature assistant", "kubernetes operator"}
    assert {form.workflow for form in forms.values()} == set(Workflow)
    assert all(form.system_prompt and form.description for form in forms.values())


def test_the_first_name_of_spaces_is_understood() -> None:
    assert load_form("name: a\nallowed_kbs: [docs]").allowed_spaces == ("docs",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a list",
        "name: [",
        "name: ''",
        "description: nameless",
        "name: a\nnonsense: 1",
        "name: a\nstep_limit: 0",
        "name: a\nstep_limit: true",
        "name: a\nworkflow: magic",
        "name: a\nlanguage: fr",
        "name: a\nallowed_tools: search",
        "name: a\nallowed_tools: ['rm -rf']",
        "name: a\nchat_options: {model: x}",
        "name: a\nchat_options: {extra_headers: {a: b}}",
        "name: a\nchat_options: {a: .nan}",
        "name: !!python/object/apply:os.system ['id']",
        "name: &a [*a]",
        "name: a\nsystem_prompt: 3",
    ],
)
def test_what_is_no_agent_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_form(text)
    assert caught.value.remedy


def test_a_long_prompt_is_refused() -> None:
    with pytest.raises(InvalidInput):
        make_form({"name": "a", "system_prompt": "x" * 40_000})
