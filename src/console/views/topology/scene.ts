/** The nodes to draw, their groups and their tiles. */
import { cellReader } from '../../api/cells.ts';
import type { RowStore } from '../../api/row-store.ts';
import type { Column, Row } from '../../api/table.ts';
import type { NodeUse } from '../../parts/node-use.ts';
import { type Tone, toneOf } from '../../parts/tone.ts';
import type { PodTiles, Tile } from './pod-tiles.ts';

const ZONE = 'topology.kubernetes.io/zone';

/** A node with its tiles. */
export interface SceneNode {
  /** '' for pods without a node. */
  readonly name: string;
  /** Undefined for a node that does not exist, or that the user may not read. */
  readonly row: Row | undefined;
  readonly status: string;
  readonly tone: Tone;
  readonly tiles: readonly Tile[];
  readonly use: NodeUse | undefined;
}

/** Nodes below one heading; the heading is '' for none. */
export interface SceneGroup {
  readonly title: string;
  readonly nodes: readonly SceneNode[];
}

export type Grouping = 'none' | 'zone';

interface SceneInput {
  readonly pods: PodTiles;
  readonly nodes: { readonly rows: RowStore; readonly columns: readonly Column[] };
  readonly use: readonly NodeUse[] | undefined;
  readonly grouping: Grouping;
  /** Nodes without tiles are left out unless this returns true. */
  readonly showsEmpty: (row: Row) => boolean;
  readonly noZone: string;
}

/** Pods without a node come first, then nodes by zone and name. */
export function sceneOf({ pods, nodes, use, grouping, showsEmpty, noZone }: SceneInput): readonly SceneGroup[] {
  const status = cellReader(nodes.columns, 'Status');
  const uses = new Map((use ?? []).map((one) => [one.name, one]));
  const known = new Map<string, Row>();
  for (const row of nodes.rows.all()) known.set(row.name, row);
  const names = new Set([...known.keys(), ...pods.nodeNames()]);
  names.delete('');
  const groups = new Map<string, SceneNode[]>();
  for (const name of [...names].sort()) {
    const row = known.get(name);
    const tiles = pods.of(name);
    if (tiles.length === 0 && (row === undefined || !showsEmpty(row))) continue;
    const word = row === undefined ? '' : status(row);
    const node: SceneNode = { name, row, status: word, tone: toneOf(word), tiles, use: uses.get(name) };
    const group = grouping === 'none' ? '' : (row?.labels[ZONE] ?? noZone);
    const members = groups.get(group);
    if (members === undefined) groups.set(group, [node]);
    else members.push(node);
  }
  const waiting = pods.of('');
  const without: SceneNode = { name: '', row: undefined, status: '', tone: 'plain', tiles: waiting, use: undefined };
  const titled = [...groups].map(([title, members]) => ({ title, nodes: members }));
  titled.sort((a, b) => (a.title < b.title ? -1 : 1));
  return waiting.length === 0 ? titled : [{ title: '', nodes: [without] }, ...titled];
}
