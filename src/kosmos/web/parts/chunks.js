// The chunk tree of a document, by line and by place in the tree.

export const TONES = 6;

/** The chunks of a document with what a reader asks of them. */
export class ChunkTree {
  constructor(items) {
    this.items = items;
    this.byId = new Map(items.map((chunk, index) => [chunk.id, { chunk, index }]));
    this.depth = new Map();
    for (const chunk of items)
      this.depth.set(chunk.id, chunk.parent_id ? (this.depth.get(chunk.parent_id) ?? 0) + 1 : 0);
    const parents = new Set(items.map((chunk) => chunk.parent_id));
    // Leaves cover the text; they change colour from one to the next.
    this.leaves = items.filter((chunk) => !parents.has(chunk.id)).sort((a, b) => a.start_line - b.start_line);
    this.tone = new Map(this.leaves.map((chunk, index) => [chunk.id, index % TONES]));
  }

  /** The deepest chunk that holds a line, or null. */
  at(line) {
    let [low, high] = [0, this.leaves.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.leaves[middle].start_line <= line) low = middle;
      else high = middle - 1;
    }
    const found = this.leaves[low];
    if (found && found.start_line <= line && line <= found.end_line) return found;
    return this.items.findLast((chunk) => chunk.start_line <= line && line <= chunk.end_line) ?? null;
  }

  get(id) {
    return this.byId.get(id)?.chunk ?? null;
  }

  index(id) {
    return this.byId.get(id)?.index ?? -1;
  }
}

/** A few words for a chunk: its heading, else its summary, else how its text begins. */
export function titleOf(chunk) {
  const first = chunk.text.split("\n").find((line) => line.trim()) ?? "";
  const heading = /^#{1,6}\s+(.*)/.exec(first);
  return (heading?.[1] ?? (chunk.summary || first)).replace(/[*_`]/g, "").slice(0, 160);
}
