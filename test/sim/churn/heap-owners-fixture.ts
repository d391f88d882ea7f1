/** Finds who holds texts in this process's heap: texts that match a pattern, with the fields and variables on the way to them. */
import { getHeapSnapshot } from 'node:v8';

interface Snapshot {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: readonly string[];
      readonly node_types: readonly [readonly string[]];
      readonly edge_fields: readonly string[];
      readonly edge_types: readonly [readonly string[]];
    };
  };
  readonly nodes: readonly number[];
  readonly edges: readonly number[];
  readonly strings: readonly string[];
}

async function takeSnapshot(): Promise<Snapshot> {
  const chunks: Buffer[] = [];
  for await (const chunk of getHeapSnapshot() as AsyncIterable<Buffer>) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Snapshot;
}

/** A heap as a graph, each object with one of the shortest paths from the roots. Paths avoid what is left out. */
class Heap {
  readonly #snapshot: Snapshot;
  readonly #nodeSize: number;
  readonly #edgeSize: number;
  /** The first edge of each object. */
  readonly #edgesFrom: Uint32Array;
  readonly #parent: Int32Array;
  readonly #edge: Uint32Array;
  readonly count: number;

  constructor(snapshot: Snapshot, leftOut: ReadonlySet<string>) {
    const { meta } = snapshot.snapshot;
    this.#snapshot = snapshot;
    this.#nodeSize = meta.node_fields.length;
    this.#edgeSize = meta.edge_fields.length;
    this.count = snapshot.nodes.length / this.#nodeSize;
    this.#edgesFrom = new Uint32Array(this.count + 1);
    const edgeCount = meta.node_fields.indexOf('edge_count');
    for (let node = 0; node < this.count; node++)
      this.#edgesFrom[node + 1] = this.#edgesFrom[node]! + snapshot.nodes[node * this.#nodeSize + edgeCount]!;
    this.#parent = new Int32Array(this.count).fill(-1);
    this.#edge = new Uint32Array(this.count);
    this.#findWays(leftOut);
  }

  #findWays(leftOut: ReadonlySet<string>): void {
    const queue = [0];
    this.#parent[0] = 0;
    for (let at = 0; at < queue.length; at++) {
      const node = queue[at]!;
      for (let edge = this.#edgesFrom[node]!; edge < this.#edgesFrom[node + 1]!; edge++) {
        if (this.#isWeak(node, edge) || leftOut.has(this.#place(node, edge))) continue;
        const to = this.#snapshot.edges[edge * this.#edgeSize + 2]! / this.#nodeSize;
        if (this.#parent[to] !== -1) continue;
        this.#parent[to] = node;
        this.#edge[to] = edge;
        queue.push(to);
      }
    }
  }

  /** `Lru.#entries`; variables that functions share are `closure.NAME`. */
  #place(node: number, edge: number): string {
    const { nodes, strings } = this.#snapshot;
    if (this.#edgeType(edge) === 'context') return `closure.${this.#nameOf(edge)}`;
    return `${strings[nodes[node * this.#nodeSize + 1]!]}.${this.#nameOf(edge) ?? ''}`;
  }

  /** A weak map does not hold its values: its keys do. */
  #isWeak(node: number, edge: number): boolean {
    const type = this.#edgeType(edge);
    if (type === 'weak') return true;
    const { nodes, edges, strings, snapshot } = this.#snapshot;
    const isOfWeakMap =
      type === 'internal' && strings[edges[edge * this.#edgeSize + 1]!]!.includes(' pair in WeakMap ');
    return isOfWeakMap && snapshot.meta.node_types[0][nodes[node * this.#nodeSize]!] !== 'object';
  }

  #edgeType(edge: number): string {
    return this.#snapshot.snapshot.meta.edge_types[0][this.#snapshot.edges[edge * this.#edgeSize]!]!;
  }

  /** The text of a string; undefined for other objects and for unreachable ones. */
  text(node: number): string | undefined {
    const { nodes, strings, snapshot } = this.#snapshot;
    if (this.#parent[node] === -1 || snapshot.meta.node_types[0][nodes[node * this.#nodeSize]!] !== 'string')
      return undefined;
    return strings[nodes[node * this.#nodeSize + 1]!];
  }

  /** Names of fields and variables from the roots; `*` is any element or entry. */
  way(node: number): string {
    const names: string[] = [];
    for (let at = node; at !== 0; at = this.#parent[at]!) {
      const name = this.#nameOf(this.#edge[at]!);
      if (name !== undefined && !(name === '*' && names.at(-1) === '*')) names.push(name);
    }
    return names.toReversed().join('.');
  }

  #nameOf(edge: number): string | undefined {
    const type = this.#edgeType(edge);
    if (type === 'element') return '*';
    const name = this.#snapshot.strings[this.#snapshot.edges[edge * this.#edgeSize + 1]!]!;
    if (type === 'property' || type === 'context') return name;
    // An entry in the table of a map or a set.
    return type === 'internal' && /^\d+( |$)/.test(name) ? '*' : undefined;
  }
}

/** The texts at one path: their number, and one of them. */
export interface TextsOfWay {
  count: number;
  readonly text: string;
}

/** The paths to matching texts, except those through what is left out: fields of classes, and `closure.NAME` for variables. */
export async function waysToTexts(pattern: RegExp, leftOut: ReadonlySet<string>): Promise<Map<string, TextsOfWay>> {
  const heap = new Heap(await takeSnapshot(), leftOut);
  const ways = new Map<string, TextsOfWay>();
  for (let node = 0; node < heap.count; node++) {
    const text = heap.text(node);
    if (text === undefined || !pattern.test(text)) continue;
    const way = heap.way(node);
    const known = ways.get(way);
    if (known === undefined) ways.set(way, { count: 1, text: text.slice(0, 200) });
    else known.count++;
  }
  return ways;
}
