"""The planning nodes: what is wanted, how to gather, which sub-questions, in which steps."""

from kosmos.agents.literature.intents import DEFAULT_INTENT, Intent, Recognised, read_intent
from kosmos.agents.literature.laying import MOST_LISTED, label_papers, list_papers
from kosmos.agents.literature.limits import MAX_INTENT_RECOGNITION_RETRIES, MOST_SUB_QUESTIONS
from kosmos.agents.literature.plans import SubQuestion, make_plan, read_sub_questions
from kosmos.agents.literature.strategies import DocumentMode, choose_strategy
from kosmos.agents.literature.work import Work
from kosmos.errors import KosmosError

INTENT, STRATEGY = "intent_recognition", "strategy_selection"
SUB_QUESTIONS, PLAN = "sub_question_generation", "plan_generation"


def check_documents(work: Work) -> bool:
    """Whether there is a document to work on; without one this is plain talk."""
    if work.state.mode is not DocumentMode.NONE:
        return True
    work.state.detected_intent = Intent.SIMPLE_INTERACTION
    work.state.intent_reason = "no document is attached"
    return False


async def recognise_intent(work: Work) -> None:
    """Take the intent that the request names, or ask the model."""
    if work.task.mode_type is not None:
        found: Recognised | None = Recognised(work.task.mode_type, "the request names it")
    else:
        found = await _ask_intent(work)
    if found is None:
        work.fall_back(f"{INTENT}: no valid intent, taken as {DEFAULT_INTENT}")
        found = Recognised(DEFAULT_INTENT, "no intent was recognised")
    work.state.detected_intent, work.state.intent_reason = found.intent, found.reason


async def _ask_intent(work: Work) -> Recognised | None:
    prompt = work.prompt(
        INTENT,
        question=work.task.question,
        papers=list_papers(work.library.papers, work.sources.fence),
        fence=work.sources.fence,
    )
    for attempt in range(1, MAX_INTENT_RECOGNITION_RETRIES + 1):
        try:
            said = await work.ask(INTENT, prompt, work.task.histories.intent, attempt=attempt)
        except KosmosError as error:
            work.fail(INTENT, error.message)
            continue
        if found := read_intent(said):
            return found
        work.fail(INTENT, f"The answer names no intent: {said[:200]!r}")
    return None


def select_strategy(work: Work) -> None:
    """Choose how to gather."""
    state = work.state
    intent = state.detected_intent or DEFAULT_INTENT
    chosen = choose_strategy(intent, state.mode, state.doc_count)
    state.strategy, state.strategy_reason = chosen.strategy, chosen.reason


async def generate_sub_questions(work: Work) -> None:
    """Let the model divide the question; the question itself where that fails."""
    papers = work.library.papers
    labels = label_papers(papers[:MOST_LISTED])
    prompt = work.prompt(
        SUB_QUESTIONS,
        question=work.task.question,
        intent=str(work.state.detected_intent),
        papers=list_papers(papers, work.sources.fence),
        most=str(MOST_SUB_QUESTIONS),
        fence=work.sources.fence,
    )
    try:
        said = await work.ask(SUB_QUESTIONS, prompt, work.task.histories.planning)
        found = read_sub_questions(said, labels)
        if not found:
            work.fail(SUB_QUESTIONS, f"No sub-question can be read from: {said[:200]!r}")
    except KosmosError as error:
        work.fail(SUB_QUESTIONS, error.message)
        found = []
    if not found:
        work.fall_back(f"{SUB_QUESTIONS}: the question itself is looked up")
    work.state.sub_questions = found or [SubQuestion(work.task.question)]


def generate_plan(work: Work) -> None:
    """A step for each sub-question."""
    work.state.plan = make_plan(work.state.sub_questions)
