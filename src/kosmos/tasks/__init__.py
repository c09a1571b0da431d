"""What users ask for, bound to storage: adding, removing, searching, answering."""
