"""What is rung for. A topic says where to look; what there is to see stands in the tables alone."""

DUE = "due"  # there may be a job to take
JOBS = "jobs"  # something happened to some job
DECIDED = "decided"  # somebody gave the word that a run waited for, or left a run behind


def job(job_id: str) -> str:
    """Something happened to this job."""
    return f"job:{job_id}"


def run(run_id: str) -> str:
    """This run has new events or another state."""
    return f"run:{run_id}"


def hall(worker: str) -> str:
    """Somebody wants something of the runs of this process."""
    return f"hall:{worker}"
