/**
 * The pods of a list by node, each as a tile. A change moves only its own tile, so that hundreds of changes a second are cheap
 * for 50,000 pods.
 */
import { cellReader } from '../../api/cells.ts';
import type { Column, Row } from '../../api/table.ts';
import type { RowChange } from '../../api/table-list.ts';
import type { RowKeeper } from '../../parts/live-table.ts';
import { type Tone, toneOf, toneOfShare } from '../../parts/tone.ts';

/** One pod. A change creates a new tile. */
export interface Tile {
  readonly row: Row;
  /** '' for a pod without a node. */
  readonly node: string;
  readonly status: string;
  readonly ready: string;
  readonly restarts: string;
  readonly tone: Tone;
}

type Reader = (row: Row) => string;

const COLUMNS = { node: 'Node', status: 'Status', ready: 'Ready', restarts: 'Restarts' };
const NO_NODE = new Set(['', '<none>']);

/** The tiles of one node, by namespace and name. */
class NodeTiles {
  readonly all: Tile[] = [];
  #shown: readonly Tile[] | undefined;

  shown(shows: ((tile: Tile) => boolean) | undefined): readonly Tile[] {
    if (shows === undefined) return this.all;
    return (this.#shown ??= this.all.filter(shows));
  }

  put(tile: Tile): void {
    const at = this.#lowerBound(tile.row);
    const same = this.all[at]?.row.uid === tile.row.uid;
    this.all.splice(at, same ? 1 : 0, tile);
    this.#shown = undefined;
  }

  remove({ row }: Tile): void {
    const at = this.#lowerBound(row);
    if (this.all[at]?.row.uid === row.uid) this.all.splice(at, 1);
    this.#shown = undefined;
  }

  filterChanged(): void {
    this.#shown = undefined;
  }

  #lowerBound(row: Row): number {
    let low = 0;
    let high = this.all.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(this.all[middle]!.row, row)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isBefore(a: Row, b: Row): boolean {
  if (a.namespace !== b.namespace) return a.namespace < b.namespace;
  return a.name === b.name ? a.uid < b.uid : a.name < b.name;
}

export class PodTiles implements RowKeeper {
  readonly #tiles = new Map<string, Tile>();
  readonly #nodes = new Map<string, NodeTiles>();
  readonly #counts: Record<Tone, number> = { good: 0, busy: 0, bad: 0, done: 0, plain: 0 };
  #read: Readonly<Record<keyof typeof COLUMNS, Reader>> = readersOf([]);
  #shows: ((tile: Tile) => boolean) | undefined;

  /** The number of all tiles, visible or not. */
  get size(): number {
    return this.#tiles.size;
  }

  /** The number of tiles in each state, visible or not. */
  get counts(): Readonly<Record<Tone, number>> {
    return this.#counts;
  }

  /** Names of nodes that have pods; '' for pods without a node. */
  nodeNames(): Iterable<string> {
    return this.#nodes.keys();
  }

  /** The visible tiles of a node. */
  of(node: string): readonly Tile[] {
    return this.#nodes.get(node)?.shown(this.#shows) ?? [];
  }

  find(uid: string): Tile | undefined {
    return this.#tiles.get(uid);
  }

  /** Undefined shows all tiles. */
  setFilter(shows: ((row: Row) => boolean) | undefined): void {
    this.#shows = shows && (({ row }) => shows(row));
    for (const node of this.#nodes.values()) node.filterChanged();
  }

  setColumns(columns: readonly Column[]): void {
    this.#read = readersOf(columns);
  }

  apply(changes: readonly RowChange[]): void {
    for (const { type, row } of changes) {
      const before = this.#tiles.get(row.uid);
      const after = type === 'put' ? this.#tileOf(row) : undefined;
      if (before !== undefined && before.node !== after?.node) this.#remove(before);
      else if (before !== undefined) this.#counts[before.tone]--;
      if (after !== undefined) this.#put(after);
    }
  }

  keep(uids: ReadonlySet<string>): void {
    for (const tile of this.#tiles.values()) if (!uids.has(tile.row.uid)) this.#remove(tile);
  }

  clear(): void {
    for (const tile of this.#tiles.values()) this.#remove(tile);
  }

  #put(tile: Tile): void {
    this.#tiles.set(tile.row.uid, tile);
    this.#counts[tile.tone]++;
    const known = this.#nodes.get(tile.node);
    const node = known ?? new NodeTiles();
    if (known === undefined) this.#nodes.set(tile.node, node);
    node.put(tile);
  }

  #remove(tile: Tile): void {
    this.#tiles.delete(tile.row.uid);
    this.#counts[tile.tone]--;
    const node = this.#nodes.get(tile.node);
    node?.remove(tile);
    if (node?.all.length === 0) this.#nodes.delete(tile.node);
  }

  #tileOf(row: Row): Tile {
    const { node, status, ready, restarts } = this.#read;
    const name = node(row);
    const word = status(row);
    const share = ready(row);
    return {
      row,
      node: NO_NODE.has(name) ? '' : name,
      status: word,
      ready: share,
      restarts: restarts(row),
      tone: word === 'Running' && toneOfShare(share) === 'busy' ? 'busy' : toneOf(word),
    };
  }
}

function readersOf(columns: readonly Column[]): Record<keyof typeof COLUMNS, Reader> {
  const reader = (name: string): Reader => cellReader(columns, name);
  return {
    node: reader(COLUMNS.node),
    status: reader(COLUMNS.status),
    ready: reader(COLUMNS.ready),
    restarts: reader(COLUMNS.restarts),
  };
}
