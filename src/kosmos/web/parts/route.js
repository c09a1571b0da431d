// Where in the page we are: #/room/id?name=value.

/** The place that the address names. */
export function here() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [room = "", ...rest] = path.split("/");
  return { room: room || "documents", ids: rest.map(decodeURIComponent), given: new URLSearchParams(query) };
}

/** The address of a place. */
export function address(room, ids = [], given = {}) {
  const query = new URLSearchParams(
    Object.entries(given).filter(([, value]) => value !== null && value !== undefined && value !== ""),
  ).toString();
  return `#/${[room, ...ids.map(encodeURIComponent)].join("/")}${query ? `?${query}` : ""}`;
}

/** Go to a place. */
export function go(...place) {
  location.hash = address(...place);
}

/** Change the address without leaving the room. */
export function rename(...place) {
  history.replaceState(null, "", address(...place));
}

/** The place of lines of a document, with a quote to mark. */
export const linesAddress = (place) =>
  address("read", [place.document_id], {
    start: place.start_line,
    end: place.end_line,
    quote: place.quote?.slice(0, 2000),
  });
