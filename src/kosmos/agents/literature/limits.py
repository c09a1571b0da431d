"""How much of a window is for documents, and the other bounds of the workflow."""

ESTIMATED_SYSTEM_TOKENS = 2000
RESERVED_ANSWER_TOKENS = 8000
MAX_INTENT_RECOGNITION_RETRIES = 3
MAX_CONCURRENT_LLM_CALLS = 10
DIRECT_CONTENT_THRESHOLD = 0.7
IN_HAND = 2 * MAX_CONCURRENT_LLM_CALLS  # documents read ahead while calls are under way
MOST_SUB_QUESTIONS = 20


def available_tokens(max_context_tokens: int, session_tokens: int, query_tokens: int) -> int:
    """What is left of a window for documents."""
    taken = session_tokens + query_tokens + ESTIMATED_SYSTEM_TOKENS + RESERVED_ANSWER_TOKENS
    return max(0, max_context_tokens - taken)


def room_for(available: int, max_context_tokens: int) -> int:
    """What may be laid before the model at once: in a small window a third of it, or nothing would fit."""
    return max(available, max_context_tokens // 3)
