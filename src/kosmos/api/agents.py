"""Routes: agents."""

from fastapi import APIRouter

from kosmos.agents.files import make_form
from kosmos.api.agent_shapes import AgentChange, AgentFileIn, AgentFileOut, AgentIn, AgentOut
from kosmos.api.callers import After, Caller, Id, Limit, TheApp
from kosmos.api.shapes import Page
from kosmos.tasks import agents

router = APIRouter(prefix="/agents", tags=["agents"])


@router.get("")
async def list_agents(app: TheApp, who: Caller, after: After = "", limit: Limit = 100) -> Page[AgentOut]:
    """Your agents and those of the instance."""
    found = await agents.list_agents(app.bench, who, after=after, limit=limit)
    return Page(
        items=[AgentOut.of(item) for item in found], next=found[-1].id if len(found) == limit else None
    )


@router.post("", status_code=201)
async def create_agent(app: TheApp, who: Caller, form: AgentIn) -> AgentOut:
    """Make an agent of yours, or of the instance if you are an administrator."""
    values = form.model_dump(exclude={"for_instance"})
    made = await agents.create_agent(app.bench, who, make_form(values), for_instance=form.for_instance)
    return AgentOut.of(made)


@router.post("/import", status_code=201)
async def import_agent(app: TheApp, who: Caller, form: AgentFileIn) -> AgentOut:
    """Make an agent from YAML, or change yours of that name."""
    made, _ = await agents.import_agent(app.bench, who, form.yaml, for_instance=form.for_instance)
    return AgentOut.of(made)


@router.get("/{agent_id}")
async def get_agent(app: TheApp, who: Caller, agent_id: Id) -> AgentOut:
    """One agent."""
    return AgentOut.of(await agents.get_agent(app.bench, who, agent_id))


@router.patch("/{agent_id}")
async def change_agent(app: TheApp, who: Caller, agent_id: Id, form: AgentChange) -> AgentOut:
    """Change an agent; runs under way go on as they began. Null tools or spaces mean all."""
    nullable = {"model", "allowed_tools", "allowed_spaces"}
    given = form.model_dump(exclude_unset=True)
    changes = {key: value for key, value in given.items() if value is not None or key in nullable}
    return AgentOut.of(await agents.change_agent(app.bench, who, agent_id, changes))


@router.delete("/{agent_id}", status_code=204)
async def remove_agent(app: TheApp, who: Caller, agent_id: Id) -> None:
    """Remove an agent. Its sessions stay and can go on."""
    await agents.remove_agent(app.bench, who, agent_id)


@router.get("/{agent_id}/export")
async def export_agent(app: TheApp, who: Caller, agent_id: Id) -> AgentFileOut:
    """An agent as YAML."""
    return AgentFileOut(yaml=await agents.export_agent(app.bench, who, agent_id))
