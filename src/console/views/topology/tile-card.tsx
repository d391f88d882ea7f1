/** The description of the item under the pointer, shown beside it and read by screen readers. */
import { texts } from '../../app/texts.ts';
import { Age } from '../../parts/age.tsx';
import { Badge } from '../../parts/badge.tsx';
import { Fact } from '../../parts/fact.tsx';
import type { Place } from './layout.ts';
import type { Tile } from './pod-tiles.ts';
import type { SceneNode } from './scene.ts';

/** A pod on its node, or a node alone; neither for an empty place. */
export interface Shown {
  readonly node: SceneNode | undefined;
  readonly tile: Tile | undefined;
}

type UseOf = (tile: Tile) => string;

/** The item in one sentence. */
export function wordsOf({ node, tile }: Shown, useOf: UseOf): string {
  const { topology: words } = texts;
  if (node === undefined) return words.nothing;
  if (tile === undefined)
    return [node.name === '' ? words.noNode : words.node(node.name), node.status, words.pods(node.tiles.length)]
      .filter((text) => text !== '')
      .join(', ');
  const where = node.name === '' ? words.noNode : words.on(node.name);
  const use = useOf(tile);
  return [
    `${tile.row.namespace}/${tile.row.name}`,
    tile.status,
    words.ready(tile.ready),
    where,
    ...(use === '' ? [] : [use]),
  ].join(', ');
}

interface TileCardProps {
  readonly shown: Shown;
  readonly useOf: UseOf;
  /** The position of the item relative to the map. */
  readonly place: Place;
  readonly within: { readonly width: number; readonly height: number };
}

const WIDTH = 290;
/** The approximate height of the card; with less room below, the card is placed above. */
const HEIGHT = 190;
const APART = 8;

/** Hidden from screen readers, which read the same text as the active option. */
export function TileCard({ shown, useOf, place, within }: TileCardProps) {
  const { node, tile } = shown;
  if (node === undefined) return null;
  // The card is placed beside a node, so that its pods stay visible, and below a pod.
  const beside = tile === undefined && place.left + place.width + APART + WIDTH <= within.width;
  const left = beside ? place.left + place.width + APART : Math.max(0, Math.min(place.left, within.width - WIDTH));
  const below = beside ? place.top : place.top + place.height + APART;
  const above = below + HEIGHT > within.height && place.top > HEIGHT;
  const style = above
    ? { left: `${left}px`, bottom: `${within.height - place.top + APART}px`, width: `${WIDTH}px` }
    : { left: `${left}px`, top: `${below}px`, width: `${WIDTH}px` };
  return (
    <div class="topology-card" aria-hidden="true" style={style}>
      {tile === undefined ? <NodeFacts node={node} /> : <PodFacts tile={tile} node={node} use={useOf(tile)} />}
    </div>
  );
}

function PodFacts({ tile, node, use }: { readonly tile: Tile; readonly node: SceneNode; readonly use: string }) {
  const { row, status, ready, restarts, tone } = tile;
  const { topology: words } = texts;
  return (
    <>
      <strong>{row.name}</strong>
      <p>
        <Badge
          word={row.deleting ? `${status}, ${texts.list.deleting}` : status}
          tone={tone === 'plain' ? 'done' : tone}
        />
      </p>
      <dl>
        <Fact name={words.facts.namespace}>{row.namespace}</Fact>
        <Fact name={words.facts.node}>{node.name === '' ? words.noNode : node.name}</Fact>
        <Fact name={words.facts.ready}>{ready}</Fact>
        <Fact name={words.facts.restarts}>{restarts}</Fact>
        <Fact name={words.facts.age}>
          <Age sinceMs={row.createdMs} />
        </Fact>
        {use === '' ? null : <Fact name={words.facts.use}>{use}</Fact>}
      </dl>
    </>
  );
}

function NodeFacts({ node: { name, row, status, tone, tiles, use } }: { readonly node: SceneNode }) {
  const { topology: words } = texts;
  const zone = row?.labels['topology.kubernetes.io/zone'];
  return (
    <>
      <strong>{name === '' ? words.noNode : name}</strong>
      {status === '' ? null : (
        <p>
          <Badge word={status} tone={tone === 'plain' ? 'done' : tone} />
        </p>
      )}
      <dl>
        <Fact name={words.facts.pods}>{String(tiles.length)}</Fact>
        {zone === undefined ? null : <Fact name={words.facts.zone}>{zone}</Fact>}
        {row === undefined ? null : (
          <Fact name={words.facts.age}>
            <Age sinceMs={row.createdMs} />
          </Fact>
        )}
        {use === undefined ? null : (
          <Fact name={words.facts.use}>{words.nodeUse(Math.round(use.cpu * 100), Math.round(use.memory * 100))}</Fact>
        )}
      </dl>
    </>
  );
}
