/** Draws the visible part of the layout. */
import type { Box, Item, Layout, Line } from './layout.ts';
import { firstLine, INSET, placeOf, tilePlace } from './layout.ts';
import type { Palette } from './palette.ts';
import type { Tile } from './pod-tiles.ts';
import type { SceneNode } from './scene.ts';
import type { Sprites } from './sprites.ts';

export interface Painting {
  readonly layout: Layout;
  readonly palette: Palette;
  readonly sprites: Sprites;
  /** The top of the visible part of the layout, and its height. */
  readonly scrollTop: number;
  readonly width: number;
  readonly height: number;
  readonly active: Item | undefined;
  readonly levelOf: (tile: Tile) => number;
  /** The name of the box of pods without a node. */
  readonly noNode: string;
}

/** A part of the screen, measured from its top. */
export interface Band {
  readonly top: number;
  readonly height: number;
}

/** Paints a band of the screen. The context is scaled to pixels of the page. */
export function paint(context: CanvasRenderingContext2D, painting: Painting, band: Band): void {
  const { layout, scrollTop, width, active, palette } = painting;
  context.save();
  context.beginPath();
  context.rect(0, band.top, width, band.height);
  context.clip();
  context.clearRect(0, band.top, width, band.height);
  const top = scrollTop + band.top - INSET;
  const visible = { top, bottom: top + band.height };
  context.translate(INSET, INSET - scrollTop);
  const { lines } = layout;
  for (let at = firstLine(layout, visible.top); at < lines.length; at++) {
    const line = lines[at]!;
    if (line.top > visible.bottom) break;
    if (line.title !== '') drawHeading(context, line, painting);
    for (const box of line.boxes) drawBox(context, box, painting, visible);
  }
  const place = active && placeOf(layout, active);
  if (place !== undefined) {
    context.strokeStyle = palette.focus;
    context.lineWidth = 2;
    context.beginPath();
    context.roundRect(place.left - 2, place.top - 2, place.width + 4, place.height + 4, 4);
    context.stroke();
  }
  context.restore();
}

function drawHeading(
  context: CanvasRenderingContext2D,
  { title, top, height }: Line,
  { palette, width }: Painting,
): void {
  context.font = `600 13px ${palette.font}`;
  context.fillStyle = palette.text;
  context.textBaseline = 'alphabetic';
  context.fillText(shortened(context, title, width), 0, top + height - 10);
}

/** The painted part of the layout. */
interface Visible {
  readonly top: number;
  readonly bottom: number;
}

function drawBox(context: CanvasRenderingContext2D, box: Box, painting: Painting, visible: Visible): void {
  const { layout, sprites, levelOf } = painting;
  const { measures } = layout;
  drawGround(context, box, painting);
  if (measures.head > 0) drawHead(context, box, painting);
  const { tiles } = box.node;
  // In a box that is higher than the screen only the visible tiles are drawn.
  const above = Math.floor((visible.top - box.top - measures.head - measures.padding) / measures.step);
  const below = Math.ceil((visible.bottom - box.top - measures.head) / measures.step);
  const end = Math.min(tiles.length, below * box.columns);
  for (let index = Math.max(0, above * box.columns); index < end; index++) {
    const tile = tiles[index]!;
    const { left, top } = tilePlace(measures, box, index);
    context.globalAlpha = tile.row.deleting ? 0.45 : 1;
    sprites.draw(context, { tone: tile.tone, level: levelOf(tile) }, Math.round(left), Math.round(top));
  }
  context.globalAlpha = 1;
}

/** Small boxes are plain rectangles, because thousands of them are on the screen. */
function drawGround(context: CanvasRenderingContext2D, box: Box, { layout, palette }: Painting): void {
  const { left, top, width, height, node } = box;
  const marked = node.tone === 'bad' || node.tone === 'busy';
  context.fillStyle = palette.surface;
  context.strokeStyle = marked ? palette.strong[node.tone] : palette.line;
  context.lineWidth = 1;
  if (layout.measures.head === 0) {
    context.fillRect(left, top, width, height);
    if (marked) context.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
    return;
  }
  context.beginPath();
  context.roundRect(left + 0.5, top + 0.5, width - 1, height - 1, 6);
  context.fill();
  context.stroke();
}

function drawHead(context: CanvasRenderingContext2D, box: Box, { palette, noNode }: Painting): void {
  const { node, left, top, width } = box;
  const title = node.name === '' ? noNode : node.name;
  const marked = node.tone === 'bad' || node.tone === 'busy';
  context.font = `600 11.5px ${palette.font}`;
  context.textBaseline = 'alphabetic';
  context.fillStyle = palette.text;
  const mark = marked ? `${node.tone === 'bad' ? '▲' : '◐'} ` : '';
  context.fillText(shortened(context, mark + title, width - 14), left + 7, top + 18);
  if (node.use === undefined) return;
  drawUse(context, box, node, palette);
}

/** Draws two bars: processor above memory. */
function drawUse(
  context: CanvasRenderingContext2D,
  { left, top, width }: Box,
  { use }: SceneNode,
  palette: Palette,
): void {
  const full = width - 14;
  const bars = [
    [palette.cpu, use!.cpu],
    [palette.memory, use!.memory],
  ] as const;
  for (const [at, [colour, share]] of bars.entries()) {
    const y = top + 24 + at * 4;
    context.fillStyle = palette.line;
    context.fillRect(left + 7, y, full, 3);
    context.fillStyle = colour;
    context.fillRect(left + 7, y, Math.max(1, full * share), 3);
  }
}

/** The text, or its beginning and end when it does not fit: names differ at their ends. */
function shortened(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let kept = text.length - 1;
  while (kept > 2) {
    const half = Math.floor(kept / 2);
    const short = `${text.slice(0, half)}…${text.slice(text.length - (kept - half))}`;
    if (context.measureText(short).width <= width) return short;
    kept--;
  }
  return '…';
}
