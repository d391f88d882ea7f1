/**
 * Colours of a log line: escape sequences that style text become spans, all others are removed. Text stays text. Colours beyond
 * the sixteen are replaced by the nearest of them, so that text is readable in both themes.
 */
import { visible } from './visible.ts';

/** A part of a line with its classes. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly classes: string;
}

/** The attributes that are switched on after a sequence. Colours are 0 to 15; -1 is the theme's own. */
export interface Pen {
  readonly foreground: number;
  readonly background: number;
  readonly attributes: readonly Attribute[];
}

type Attribute = 'bold' | 'faint' | 'italic' | 'underlined' | 'struck' | 'inverse';

export const PLAIN_PEN: Pen = { foreground: -1, background: -1, attributes: [] };

export interface StyledText {
  readonly text: string;
  readonly spans: readonly Span[];
  /** The attributes with which the next line of the same log starts. */
  readonly pen: Pen;
}

/** Control sequences, strings for the terminal (titles, links) that end in the line, and short sequences. */
const SEQUENCE =
  /\u001b(?:\[([0-?]*)[ -/]*([@-~])|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)|[ -/]+[0-~]|[0-OQ-WYZ`-~])/g;

const ATTRIBUTES: Readonly<Record<number, Attribute>> = {
  1: 'bold',
  2: 'faint',
  3: 'italic',
  4: 'underlined',
  7: 'inverse',
  9: 'struck',
};

/** Codes that switch attributes off. */
const ENDS: Readonly<Record<number, readonly Attribute[]>> = {
  21: ['bold'],
  22: ['bold', 'faint'],
  23: ['italic'],
  24: ['underlined'],
  27: ['inverse'],
  29: ['struck'],
};

/** Parses a line that starts with these attributes. */
export function styledText(raw: string, begin: Pen = PLAIN_PEN): StyledText {
  if (begin === PLAIN_PEN && !raw.includes('\u001b')) return { text: visible(raw, 0), spans: [], pen: begin };
  let pen = begin;
  let text = '';
  const spans: Span[] = [];
  const add = (piece: string): void => {
    const start = text.length;
    text += visible(piece, start);
    const classes = classesOf(pen);
    if (classes !== '' && text.length > start) spans.push({ start, end: text.length, classes });
  };
  let from = 0;
  for (const match of raw.matchAll(SEQUENCE)) {
    add(raw.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[2] === 'm') pen = afterGraphics(pen, match[1] ?? '');
  }
  add(raw.slice(from));
  return { text, spans, pen };
}

function classesOf({ foreground, background, attributes }: Pen): string {
  const inverse = attributes.includes('inverse');
  const [front, back] = inverse ? [background, foreground] : [foreground, background];
  // Text on a coloured background has the one colour that is readable there.
  const colour = back >= 0 ? `logs-on-${back}` : inverse ? 'logs-on-7' : front >= 0 ? `logs-ink-${front}` : '';
  const others = attributes.filter((attribute) => attribute !== 'inverse').map((attribute) => `logs-${attribute}`);
  return [...(colour === '' ? [] : [colour]), ...others].join(' ');
}

/** Select Graphic Rendition; unknown numbers are ignored. */
function afterGraphics(before: Pen, parameters: string): Pen {
  const numbers = parameters.split(/[;:]/).map(Number);
  let pen = before;
  for (let at = 0; at < numbers.length; at++) {
    const code = numbers[at]!;
    if (code === 38 || code === 48) {
      const { colour, used } = extendedColour(numbers.slice(at + 1));
      if (colour >= 0) pen = { ...pen, [code === 38 ? 'foreground' : 'background']: colour };
      at += used;
    } else pen = afterCode(pen, code);
  }
  return pen;
}

function afterCode(pen: Pen, code: number): Pen {
  if (code === 0) return PLAIN_PEN;
  const attribute = ATTRIBUTES[code];
  if (attribute !== undefined)
    return { ...pen, attributes: [...pen.attributes.filter((one) => one !== attribute), attribute] };
  const ended = ENDS[code];
  if (ended !== undefined) return { ...pen, attributes: pen.attributes.filter((one) => !ended.includes(one)) };
  if (code >= 30 && code <= 37) return { ...pen, foreground: code - 30 };
  if (code >= 90 && code <= 97) return { ...pen, foreground: code - 82 };
  if (code >= 40 && code <= 47) return { ...pen, background: code - 40 };
  if (code >= 100 && code <= 107) return { ...pen, background: code - 92 };
  if (code === 39) return { ...pen, foreground: -1 };
  return code === 49 ? { ...pen, background: -1 } : pen;
}

/** The numbers after 38 and 48: `5;N` of 256 colours, or `2;R;G;B`. `used` is how many numbers belong to it. */
function extendedColour([mode, a = 0, b = 0, c = 0]: readonly number[]): {
  readonly colour: number;
  readonly used: number;
} {
  if (mode === 2) return { colour: nearest(a, b, c), used: 4 };
  if (mode !== 5) return { colour: -1, used: 0 };
  if (a < 16) return { colour: a, used: 2 };
  if (a >= 232) return { colour: nearest((a - 232) * 10 + 8, (a - 232) * 10 + 8, (a - 232) * 10 + 8), used: 2 };
  const step = (power: number): number => (Math.floor((a - 16) / power) % 6) * 51;
  return { colour: nearest(step(36), step(6), step(1)), used: 2 };
}

/** The nearest colour by the strong components of red, green and blue; grey when none dominates. */
function nearest(red: number, green: number, blue: number): number {
  const most = Math.max(red, green, blue);
  if (most - Math.min(red, green, blue) < 40) return most < 64 ? 0 : most < 128 ? 8 : most < 220 ? 7 : 15;
  const strong = (part: number): number => (part > most * 0.6 ? 1 : 0);
  return strong(red) + 2 * strong(green) + 4 * strong(blue) + (most > 200 ? 8 : 0);
}
