/** Sizes of the values of expressions: paths in the schema, sizes of values and of their elements, and the variables of loops. */
import type { Expr } from '../language/expr.ts';
import { runeCount } from '../runtime/size-of.ts';
import { isOptionalType, type Type } from '../types/type.ts';
import type { SizeEstimator } from './operand.ts';
import { exactly, type Range } from './range.ts';

/** Size bounds of the elements of a list or map. */
export interface EntrySizes {
  readonly isList: boolean;
  readonly key: Range;
  readonly value: Range;
}

/** A variable of a comprehension, which stands for each element in turn. */
interface Local {
  readonly path: readonly string[];
  readonly size: Range | undefined;
  readonly entries: EntrySizes | undefined;
}

export const ONE = exactly(1);

export class ExprSizes {
  readonly #sizeAt: SizeEstimator;
  readonly #paths = new Map<Expr, readonly string[]>();
  readonly #sizes = new Map<Expr, Range>();
  readonly #entries = new Map<Expr, EntrySizes>();
  readonly #locals = new Map<string, Local[]>();

  constructor(sizeAt: SizeEstimator) {
    this.#sizeAt = sizeAt;
  }

  setPath(expr: Expr, path: readonly string[]): void {
    this.#paths.set(expr, path);
  }

  local(name: string): Local | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  push(name: string, local: Local): void {
    const known = this.#locals.get(name);
    if (known === undefined) this.#locals.set(name, [local]);
    else known.push(local);
  }

  pop(name: string): void {
    this.#locals.get(name)?.pop();
  }

  path(expr: Expr): readonly string[] {
    const local = expr.kind === 'ident' ? this.local(expr.name) : undefined;
    return local?.path ?? this.#paths.get(expr) ?? [];
  }

  copySizes(to: Expr, from: Expr): void {
    this.setSize(to, this.size(from));
    this.setEntries(to, this.entriesOf(from));
  }

  setSize(expr: Expr, size: Range | undefined): void {
    if (size !== undefined) this.#sizes.set(expr, size);
  }

  setEntries(expr: Expr, entries: EntrySizes | undefined): void {
    if (entries !== undefined) this.#entries.set(expr, entries);
  }

  /** As upstream: a computed size has precedence over the literal's, that over the schema's, that over the type's. */
  size(expr: Expr): Range | undefined {
    const cached = this.#sizes.get(expr) ?? literalSize(expr);
    if (cached !== undefined) return cached;
    const path = this.path(expr);
    const found = path.length === 0 ? undefined : this.#sizeAt(path);
    if (found !== undefined) this.#sizes.set(expr, found);
    if (found !== undefined) return found;
    if (isScalar(expr.type!)) return ONE;
    return expr.kind === 'ident' ? this.local(expr.name)?.size : undefined;
  }

  entriesOf(expr: Expr): EntrySizes | undefined {
    return this.#entries.get(expr) ?? (expr.kind === 'ident' ? this.local(expr.name)?.entries : undefined);
  }
}

function literalSize(expr: Expr): Range | undefined {
  if (expr.kind === 'list') return exactly(expr.items.length);
  if (expr.kind === 'map') return exactly(expr.entries.length);
  if (expr.kind !== 'literal') return undefined;
  const { value } = expr;
  if (typeof value === 'string') return exactly(runeCount(value));
  return exactly(value instanceof Uint8Array ? value.length : 1);
}

const SCALARS: ReadonlySet<string> = new Set(['bool', 'double', 'duration', 'int', 'timestamp', 'uint']);

function isScalar(type: Type): boolean {
  return SCALARS.has(type.kind) || (isOptionalType(type) && isScalar(type.params[0]!));
}
