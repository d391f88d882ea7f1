/**
 * Finds the place of a JSON pointer in a document and copies the containers on the way, so that they can be changed. RFC 6901.
 */
import { MAX_DEPTH } from '../codec/json-parser.ts';
import { isObject, type JsonObject, setOwn } from '../codec/own-property.ts';
import type { MeasuredCopies } from './measured-copy.ts';
import { PatchError } from './patch-error.ts';

type Container = JsonObject | unknown[];

export interface PatchWork {
  root: unknown;
  /** Containers that were created here and may be changed in place. */
  readonly owned: WeakSet<object>;
  readonly copies: MeasuredCopies;
  movedElements: number;
}

export const tooDeep = (): PatchError => new PatchError(422, 'exceeded max depth');

export const missing = (text: string): PatchError => new PatchError(422, `${text}: missing value`);

export function steps(path: string): string[] {
  if (path.length > MAX_DEPTH && path.split('/', MAX_DEPTH + 2).length > MAX_DEPTH + 1) throw tooDeep();
  const all = path.split('/').slice(1);
  return path.includes('~') ? all.map((s) => s.replaceAll('~1', '/').replaceAll('~0', '~')) : all;
}

/** The index in a list of this length; a negative index counts from the end. */
export function indexOf(key: string, length: number): number | undefined {
  if (!/^-?\d+$/.test(key)) return undefined;
  const n = Number(key);
  return n < 0 ? n + length : n;
}

export function child(container: unknown, key: string): unknown {
  if (Array.isArray(container)) {
    const index = indexOf(key, container.length);
    return index === undefined ? undefined : (container[index] as unknown);
  }
  return isObject(container) && Object.hasOwn(container, key) ? container[key] : undefined;
}

export function find(work: PatchWork, path: string): unknown {
  return steps(path).reduce<unknown>(child, work.root);
}

function ownedCopy(work: PatchWork, container: Container): Container {
  if (work.owned.has(container)) return container;
  const copy = Array.isArray(container) ? [...container] : { ...container };
  work.owned.add(copy);
  return copy;
}

export const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

/** The container of the path's last step, safe to change; undefined when the path does not exist. */
export function parentOf(work: PatchWork, path: string): { parent: Container; key: string } | undefined {
  const all = steps(path);
  const key = all.pop();
  if (key === undefined || !isContainer(work.root)) return undefined;
  let parent = ownedCopy(work, work.root);
  work.root = parent;
  for (const step of all) {
    const next = child(parent, step);
    if (!isContainer(next)) return undefined;
    const owned = ownedCopy(work, next);
    put(parent, step, owned);
    parent = owned;
  }
  return { parent, key };
}

export function put(parent: Container, key: string, value: unknown): void {
  if (Array.isArray(parent)) parent[indexOf(key, parent.length) ?? 0] = value;
  else setOwn(parent, key, value);
}

export function badIndex(op: string, path: string, key: string): PatchError {
  return new PatchError(
    422,
    `error in ${op} for path: '${path}': Unable to access invalid index: ${key}: invalid index referenced`,
  );
}
