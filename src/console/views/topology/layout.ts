/** Positions of nodes and tiles: a grid of boxes as wide as the page, each with a grid of tiles. Pure. */
import type { SceneGroup, SceneNode } from './scene.ts';

/** A node's box. Lengths are in pixels of the page. */
export interface Box {
  readonly node: SceneNode;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** The number of tiles side by side. */
  readonly columns: number;
}

/** A heading, or boxes side by side. */
export interface Line {
  readonly top: number;
  readonly height: number;
  readonly title: string;
  readonly boxes: readonly Box[];
}

export interface Layout {
  readonly lines: readonly Line[];
  readonly height: number;
  readonly measures: Measures;
}

/** The measures for one size of tiles. */
export interface Measures {
  readonly tile: number;
  /** The distance from one tile to the next. */
  readonly step: number;
  readonly padding: number;
  readonly boxGap: number;
  /** The height for the node's name; 0 when it is not drawn. */
  readonly head: number;
  readonly leastWidth: number;
}

/** An item under the pointer: a tile of a node, or the node itself with index -1. */
export interface Item {
  readonly node: string;
  readonly index: number;
}

/** The sizes of tiles that the user can choose. */
export const TILE_SIZES: readonly number[] = [4, 7, 11, 16, 24];
/** The margin of the page, for the frame of a selected item. */
export const INSET = 4;
const HEADING = 34;
/** Below this size nodes have no room for their names. */
const NAMED_FROM = 11;

export function measuresOf(tile: number): Measures {
  const named = tile >= NAMED_FROM;
  return {
    tile,
    step: tile + (tile < 7 ? 1 : tile < 16 ? 2 : 4),
    padding: named ? 7 : 3,
    boxGap: named ? 8 : 3,
    head: named ? 30 : 0,
    leastWidth: named ? 136 : 14,
  };
}

export function layoutOf(groups: readonly SceneGroup[], width: number, measures: Measures): Layout {
  const counts = groups.flatMap(({ nodes }) => nodes.flatMap(({ name, tiles }) => (name === '' ? [] : [tiles.length])));
  const shape = shapeOf(counts, width, measures);
  const lines: Line[] = [];
  let top = 0;
  for (const { title, nodes } of groups) {
    if (title !== '') {
      lines.push({ top, height: HEADING, title, boxes: [] });
      top += HEADING;
    }
    for (let at = 0; at < nodes.length;) {
      // Pods without a node fill a whole line.
      const whole = nodes[at]!.name === '';
      const members = nodes.slice(at, at + (whole ? 1 : shape.perLine));
      const line = lineOf(members, { top, width: whole ? width : shape.width, measures });
      lines.push(line);
      top += line.height + measures.boxGap;
      at += members.length;
    }
  }
  return { lines, height: top, measures };
}

/** The largest size of tiles at which all or nearly all is on the screen. */
export function fittingSize(groups: readonly SceneGroup[], width: number, height: number): number {
  const fits = TILE_SIZES.toReversed().find((size) => layoutOf(groups, width, measuresOf(size)).height <= height * 1.1);
  return fits ?? TILE_SIZES[0]!;
}

/** The width of boxes: those of most nodes become a little wider than high. */
function shapeOf(counts: readonly number[], width: number, measures: Measures): { perLine: number; width: number } {
  const { padding, step, boxGap, leastWidth } = measures;
  const usual = counts.toSorted((a, b) => a - b)[Math.floor(counts.length * 0.9)] ?? 1;
  const columns = Math.max(2, Math.ceil(Math.sqrt(usual * 1.8)));
  const wanted = Math.min(width, Math.max(leastWidth, columns * step + 2 * padding));
  const perLine = Math.max(1, Math.floor((width + boxGap) / (wanted + boxGap)));
  return { perLine, width: (width - (perLine - 1) * boxGap) / perLine };
}

interface LinePlace {
  readonly top: number;
  readonly width: number;
  readonly measures: Measures;
}

function lineOf(nodes: readonly SceneNode[], { top, width, measures }: LinePlace): Line {
  const { step, padding, head, boxGap } = measures;
  const columns = Math.max(1, Math.floor((width - 2 * padding) / step));
  const most = nodes.reduce((sum, { tiles }) => Math.max(sum, tiles.length), 1);
  const rows = Math.ceil(most / columns);
  const height = head + 2 * padding + rows * step;
  const boxes = nodes.map((node, at) => ({ node, left: at * (width + boxGap), top, width, height, columns }));
  return { top, height, title: '', boxes };
}

/** The index of the first line that is not entirely above `top`. */
export function firstLine({ lines }: Layout, top: number): number {
  let low = 0;
  let high = lines.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (lines[middle]!.top + lines[middle]!.height <= top) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function boxOf({ lines }: Layout, node: string): Box | undefined {
  for (const { boxes } of lines) for (const box of boxes) if (box.node.name === node) return box;
  return undefined;
}

export interface Place {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** The rectangle of an item. */
export function placeOf(layout: Layout, { node, index }: Item): Place | undefined {
  const box = boxOf(layout, node);
  if (box === undefined) return undefined;
  if (index < 0) return { ...box, height: layout.measures.head || box.height };
  return tilePlace(layout.measures, box, index);
}

export function tilePlace({ tile, step, padding, head }: Measures, box: Box, index: number): Place {
  return {
    left: box.left + padding + (index % box.columns) * step,
    top: box.top + head + padding + Math.floor(index / box.columns) * step,
    width: tile,
    height: tile,
  };
}

export function itemAt(layout: Layout, x: number, y: number): Item | undefined {
  const line = layout.lines[firstLine(layout, y)];
  const box = line?.boxes.find(
    ({ left, top, width, height }) => isWithin(x - left, width) && isWithin(y - top, height),
  );
  if (box === undefined) return undefined;
  const { step, padding, head } = layout.measures;
  const column = Math.floor((x - box.left - padding) / step);
  const row = Math.floor((y - box.top - head - padding) / step);
  const index = row * box.columns + column;
  const onTile = column >= 0 && column < box.columns && row >= 0 && index < box.node.tiles.length;
  return { node: box.node.name, index: onTile ? index : -1 };
}

function isWithin(offset: number, length: number): boolean {
  return offset >= 0 && offset < length;
}
