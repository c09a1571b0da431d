"""The literature workflow: recognises what is wanted, gathers from papers, answers with citations."""
