"""The four routes of a search, by the names of the fields that they search."""

TEXT_DENSE = "vector"
SUMMARY_DENSE = "summary_vector"
TEXT_SPARSE = "sparse_vector"
TITLE_SPARSE = "title_sparse"
DENSE = (TEXT_DENSE, SUMMARY_DENSE)
SPARSE = (TEXT_SPARSE, TITLE_SPARSE)
ROUTES = (*DENSE, *SPARSE)


def route_of(name: str) -> str:
    """The route that a list of results came from; those of a rewritten question are called `vector#2`."""
    return name.split("#", 1)[0]
