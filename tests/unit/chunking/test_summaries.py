"""A summary is a sentence of the chunk, short and readable."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kosmos.chunking.summaries import SUMMARY_CHARS, summarize


def test_the_lead_stands_for_a_short_text() -> None:
    assert summarize("A Pod is the smallest unit. It runs containers.") == "A Pod is the smallest unit."
    assert summarize("Pod 是最小的部署单元。它运行容器。") == "Pod 是最小的部署单元。"
    assert summarize("short\n text") == "short text"


def test_the_sentence_that_most_others_share_words_with_wins_over_a_greeting() -> None:
    text = (
        "Hello. The scheduler assigns each pending pod to a node. Every pod needs a node with room. "
        "The scheduler filters nodes, then scores each node for the pod."
    )
    assert "node" in summarize(text)


def test_marks_links_tags_and_code_are_left_out() -> None:
    code = "```sh\nkubectl get pods\n```"
    text = f"{code}\n\n- [x] Read **the** [guide](https://example.org/a) first, it explains all.\n"
    assert summarize(text) == "Read **the** guide first, it explains all."
    assert (
        summarize("{{< note >}}\nMind the gap between <b>these</b> two.") == "Mind the gap between these two."
    )
    assert summarize("[ref]: /url\n\nWords that matter.") == "Words that matter."


def test_formulas_are_no_sentences() -> None:
    formula = r"$$ \frac{\rho}{\theta} = \alpha\left(\kappa-t\right) $$"
    assert summarize(f"{formula}\n\nThe model is small.") == "The model is small."
    assert "alpha" in summarize(formula)  # where there is nothing else


def test_code_alone_is_summarized_by_its_words() -> None:
    assert "kubectl get pods" in summarize("```sh\nkubectl get pods\n```")


def test_a_long_sentence_is_cut_after_a_word() -> None:
    summary = summarize("wording " * 100)
    assert summary.endswith("wording…")
    assert len(summary) <= SUMMARY_CHARS
    assert summarize("字" * 500) == "字" * (SUMMARY_CHARS - 1) + "…"


@pytest.mark.parametrize("text", ["", "\n", "---", "***"])
def test_nothing_to_say(text: str) -> None:
    assert summarize(text) == text.strip()


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=400))
def test_any_text_has_a_summary_of_its_own_characters_on_one_line(text: str) -> None:
    summary = summarize(text)
    assert len(summary) <= SUMMARY_CHARS
    assert "\n" not in summary
    assert set(summary) <= set(text) | {" ", "…"}
