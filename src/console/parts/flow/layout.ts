/** Computes the positions of a diagram's boxes: columns from left to right, each box near its connections. Pure. */
import type { Flow, FlowBox, FlowEdge } from './flow.ts';

export interface PlacedBox {
  readonly box: FlowBox;
  readonly left: number;
  readonly top: number;
}

export interface PlacedEdge {
  readonly edge: FlowEdge;
  /** A path in SVG's syntax. */
  readonly path: string;
}

export interface FlowLayout {
  readonly boxes: readonly PlacedBox[];
  readonly edges: readonly PlacedEdge[];
  readonly width: number;
  readonly height: number;
}

/** The minimum width of a box. */
export const LEAST_BOX_WIDTH = 210;
const MOST_BOX_WIDTH = 300;
export const BOX_HEIGHT = 44;
const GAP = 8;
const COLUMN_GAP = 58;

/** The width with which the boxes of all columns fill the room. */
export function boxWidthIn(room: number, columns: number): number {
  const each = Math.floor((room - (columns - 1) * COLUMN_GAP) / Math.max(1, columns));
  return Math.max(LEAST_BOX_WIDTH, Math.min(MOST_BOX_WIDTH, each));
}

export function columnLeft(column: number, boxWidth: number): number {
  return column * (boxWidth + COLUMN_GAP);
}

export function layoutFlow({ columns, edges }: Flow, boxWidth: number): FlowLayout {
  const neighbours = new Map<string, string[]>();
  for (const { from, to } of edges) {
    neighbours.set(to, [...(neighbours.get(to) ?? []), from]);
    neighbours.set(from, [...(neighbours.get(from) ?? []), to]);
  }
  const middles = new Map<string, number>();
  const boxes: PlacedBox[] = [];
  const tallest = columns.reduce((most, { boxes: { length } }) => Math.max(most, length), 0);
  const height = Math.max(0, tallest * (BOX_HEIGHT + GAP) - GAP);
  for (const [at, column] of columns.entries()) {
    const wanted = (box: FlowBox): number => meanOf((neighbours.get(box.id) ?? []).map((id) => middles.get(id)));
    const ordered = column.boxes
      .map((box, place) => ({ box, place, middle: at === 0 ? place : wanted(box) }))
      .sort((a, b) => a.middle - b.middle || a.place - b.place);
    const tops =
      at === 0
        ? ordered.map((_, place) => place * (BOX_HEIGHT + GAP))
        : spread(
            ordered.map(({ middle }) => middle - BOX_HEIGHT / 2),
            height,
          );
    for (const [place, { box }] of ordered.entries()) {
      const top = tops[place]!;
      middles.set(box.id, top + BOX_HEIGHT / 2);
      boxes.push({ box, left: columnLeft(at, boxWidth), top });
    }
  }
  const lefts = new Map(boxes.map(({ box, left }) => [box.id, left]));
  return {
    boxes,
    edges: edges.flatMap((edge) => {
      const [from, to] = [middles.get(edge.from), middles.get(edge.to)];
      if (from === undefined || to === undefined) return [];
      return [
        { edge, path: curve({ x: lefts.get(edge.from)! + boxWidth, y: from }, { x: lefts.get(edge.to)!, y: to }) },
      ];
    }),
    width: columnLeft(columns.length, boxWidth) - COLUMN_GAP,
    height,
  };
}

/** Boxes without connections are placed last. */
function meanOf(values: readonly (number | undefined)[]): number {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? Infinity : known.reduce((sum, value) => sum + value, 0) / known.length;
}

/** Vertical positions near the desired ones that do not overlap and fit into the height. */
function spread(wanted: readonly number[], height: number): readonly number[] {
  const step = BOX_HEIGHT + GAP;
  const tops: number[] = [];
  for (const top of wanted)
    tops.push(Math.max(Number.isFinite(top) ? Math.max(0, top) : 0, (tops.at(-1) ?? -step) + step));
  let most = height - BOX_HEIGHT;
  for (let at = tops.length - 1; at >= 0; at--) {
    tops[at] = Math.max(0, Math.min(tops[at]!, most));
    most = tops[at]! - step;
  }
  return tops;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

function curve(from: Point, to: Point): string {
  const bend = Math.max(24, (to.x - from.x) / 2);
  return `M${from.x} ${from.y}C${from.x + bend} ${from.y} ${to.x - bend} ${to.y} ${to.x} ${to.y}`;
}
