"""Prompts are files: one Markdown file each, whose head names its variables."""

from kosmos.prompts.loading import Prompt, load_prompt, prompt_names

__all__ = ["Prompt", "load_prompt", "prompt_names"]
