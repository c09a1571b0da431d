"""Commands and files of a workspace, kept inside it: isolation, file access, grants, audit."""
