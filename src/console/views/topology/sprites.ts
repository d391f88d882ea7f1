/** Draws a tile once for each state and level of use and copies it: tens of thousands of tiles take a few milliseconds. */
import type { Tone } from '../../parts/tone.ts';
import type { Palette } from './palette.ts';
import { SHAPES, TONES } from './shapes.ts';

/** The number of levels of use between nothing and all of it. */
export const LEVELS = 10;

export interface Sprites {
  /** `level` is 0 to `LEVELS`. Left and top are in pixels of the page. */
  draw(
    context: CanvasRenderingContext2D,
    tile: { readonly tone: Tone; readonly level: number },
    left: number,
    top: number,
  ): void;
}

/** Smaller tiles are squares, because shapes would not be recognizable. */
const SHAPED_FROM = 7;

function makeSquares(size: number, { soft, strong }: Palette): Sprites {
  return {
    draw(context, { tone, level }, left, top) {
      const height = Math.round((size * level) / LEVELS);
      if (height < size) {
        context.fillStyle = soft[tone];
        context.fillRect(left, top, size, size);
      }
      context.fillStyle = strong[tone];
      context.fillRect(left, top + size - height, size, height);
    },
  };
}

export function makeSprites(size: number, pixelRatio: number, palette: Palette): Sprites {
  if (size < SHAPED_FROM) return makeSquares(size, palette);
  const cell = Math.ceil(size * pixelRatio) + 1;
  const sheet = document.createElement('canvas');
  sheet.width = cell * (LEVELS + 1);
  sheet.height = cell * TONES.length;
  const context = sheet.getContext('2d')!;
  for (const [row, tone] of TONES.entries())
    for (let level = 0; level <= LEVELS; level++) {
      context.save();
      context.translate(level * cell, row * cell);
      context.scale((size * pixelRatio) / 16, (size * pixelRatio) / 16);
      drawShape(context, { tone, level }, palette, size);
      context.restore();
    }
  const drawn = cell / pixelRatio;
  const rows: Readonly<Record<Tone, number>> = { good: 0, busy: 1, bad: 2, done: 3, plain: 4 };
  return {
    draw: (target, { tone, level }, left, top) =>
      target.drawImage(sheet, level * cell, rows[tone] * cell, cell, cell, left, top, drawn, drawn),
  };
}

interface TileState {
  readonly tone: Tone;
  readonly level: number;
}

/** Draws, on a grid of 16, the shape filled from below up to its level. */
function drawShape(
  context: CanvasRenderingContext2D,
  { tone, level }: TileState,
  { soft, strong }: Palette,
  size: number,
): void {
  const shape = new Path2D(SHAPES[tone]);
  context.clip(shape);
  context.fillStyle = soft[tone];
  context.fillRect(0, 0, 16, 16);
  context.fillStyle = strong[tone];
  const height = (16 * level) / LEVELS;
  context.fillRect(0, 16 - height, 16, height);
  if (level === LEVELS) return;
  // Clipped to its inner half, so that one pixel is visible.
  context.strokeStyle = strong[tone];
  context.lineWidth = (2 * 16) / size;
  context.stroke(shape);
}
