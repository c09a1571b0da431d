// One stream of all jobs for the whole page: whoever shows something about a job listens here.
import { follow } from "./streams.js";

class LiveJobs extends EventTarget {
  state = "lost";
  #stop = null;

  /** Begin to listen; the events "job" carry the job, "state" says whether the server is there. */
  start() {
    if (this.#stop) return;
    this.#stop = new AbortController();
    const tell = (type, detail) => this.dispatchEvent(new CustomEvent(type, { detail }));
    follow("/jobs/events", {
      signal: this.#stop.signal,
      onState: (state) => {
        const back = state === "open" && this.state === "lost" && this.known;
        this.state = state;
        tell("state", state);
        if (back) tell("back");
        this.known = true;
      },
      onEvent: (event) => {
        if (event.type === "job") tell("job", event.data);
      },
    }).catch(() => this.stop());
  }

  stop() {
    this.#stop?.abort();
    this.#stop = null;
    this.state = "lost";
  }

  /** Listen for as long as `signal` lasts. */
  listen(type, run, signal) {
    this.addEventListener(type, (event) => run(event.detail), { signal });
  }
}

export const live = new LiveJobs();
