// Prints JSON values as Go does: upstream's errors quote values so.

import { quote } from '../../base/go-quote.ts';
import { isObject, type JsonObject } from './own-property.ts';

interface Style {
  readonly absent: string;
  readonly list: readonly [start: string, end: string];
  readonly map: readonly [start: string, end: string];
  readonly separator: string;
  text(text: string): string;
}

const PRINTED: Style = {
  absent: '<nil>',
  list: ['[', ']'],
  map: ['map[', ']'],
  separator: ' ',
  text: (text) => text,
};

const SYNTAX: Style = {
  absent: 'interface {}(nil)',
  list: ['[]interface {}{', '}'],
  map: ['map[string]interface {}{', '}'],
  separator: ', ',
  text: quote,
};

/** As %v: `map[a:1 b:[x y]]`, keys sorted. A text longer than `maxChars` is cut. */
export function goPrint(value: unknown, maxChars = Infinity): string {
  return textOf(value, PRINTED, maxChars);
}

/** As %#v: `map[string]interface {}{"a":1}`, keys sorted. A text longer than `maxChars` is cut. */
export function goSyntax(value: unknown, maxChars = Infinity): string {
  return textOf(value, SYNTAX, maxChars);
}

function textOf(value: unknown, style: Style, maxChars: number): string {
  const printed = new PrintBuffer(maxChars);
  print(value, style, printed);
  return printed.toString();
}

/**
 * Collects the pieces of a text and joins them once: joining level by level would copy the pieces of a deep value at each level.
 */
class PrintBuffer {
  readonly #maxChars: number;
  readonly #pieces: string[] = [];
  #length = 0;

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  get isFull(): boolean {
    return this.#length > this.#maxChars;
  }

  add(piece: string): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  /** Cuts a text that exceeds the limit to one character more than it, which shows that it was cut. */
  cut(text: string): string {
    return text.slice(0, this.#maxChars - this.#length + 1);
  }

  toString(): string {
    const text = this.#pieces.join('');
    return this.isFull ? `${text.slice(0, this.#maxChars)}…` : text;
  }
}

function print(value: unknown, style: Style, printed: PrintBuffer): void {
  if (value === null || value === undefined) printed.add(style.absent);
  else if (typeof value === 'string') printed.add(style.text(printed.cut(value)));
  else if (Array.isArray(value)) printList(value, style, printed);
  else if (isObject(value)) printMap(value, style, printed);
  else printed.add(String(value));
}

function printList(items: readonly unknown[], style: Style, printed: PrintBuffer): void {
  printed.add(style.list[0]);
  for (let index = 0; index < items.length && !printed.isFull; index++) {
    if (index > 0) printed.add(style.separator);
    print(items[index], style, printed);
  }
  printed.add(style.list[1]);
}

function printMap(map: JsonObject, style: Style, printed: PrintBuffer): void {
  printed.add(style.map[0]);
  for (const [index, key] of Object.keys(map).sort().entries()) {
    if (printed.isFull) break;
    printed.add(`${index === 0 ? '' : style.separator}${style.text(printed.cut(key))}:`);
    print(map[key], style, printed);
  }
  printed.add(style.map[1]);
}

/** The type of a JSON value, as upstream's patches print it (`reflect.TypeOf` with %s). */
export function goTypeName(value: unknown): string {
  if (value === null || value === undefined) return '%!s(<nil>)';
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'object') return 'map[string]interface {}';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  if (typeof value === 'bigint') return 'int64';
  return typeof value === 'boolean' ? 'bool' : 'string';
}
