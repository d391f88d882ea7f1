// JSON patch (RFC 6902) with the errors, negative indices and limits of upstream's library (evanphx/json-patch). Pure: a
// container is copied when it is first changed, the rest is shared with the original. It is written by hand rather than with
// fast-json-patch, because clients compare upstream's errors and the work must be limited.

import { MAX_DEPTH } from '../codec/json-parser.ts';
import { isObject, setOwn } from '../codec/own-property.ts';
import { jsonKind } from '../codec/scalars.ts';
import {
  badIndex,
  child,
  find,
  indexOf,
  isContainer,
  missing,
  parentOf,
  put,
  steps,
  tooDeep,
  type PatchWork,
} from './json-pointer.ts';
import { MeasuredCopies } from './measured-copy.ts';
import { PatchError } from './patch-error.ts';

/** Upstream refuses patches with more operations. */
const MAX_OPERATIONS = 10_000;

/** The limit of array elements that the insertions and removals of one patch may move. Upstream has threads and no such limit. */
const MAX_MOVED_ELEMENTS = 50_000_000;

interface Operation {
  op: string;
  path: string;
  from?: string;
  value?: unknown;
}

/**
 * The document after the patch; a null patch has no operations. Throws {@link PatchError}: 400 for a malformed patch, 422 when it
 * cannot be applied.
 */
export function jsonPatch(original: unknown, patch: unknown): unknown {
  if (patch === null) return original;
  if (!Array.isArray(patch))
    throw new PatchError(
      400,
      `error decoding patch: json: cannot unmarshal ${jsonKind(patch)} into Go value of type []handlers.jsonPatchOp`,
    );
  if (patch.length > MAX_OPERATIONS) {
    throw new PatchError(
      413,
      `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${patch.length}`,
    );
  }
  const work: PatchWork = { root: original, owned: new WeakSet(), copies: new MeasuredCopies(), movedElements: 0 };
  try {
    for (const operation of patch) run(work, check(operation));
    checkDepth(work.root, 0);
  } catch (error) {
    // Values within the depth limit can be nested into a document beyond it.
    if (error instanceof RangeError) throw tooDeep();
    throw error;
  }
  return work.root;
}

function checkDepth(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth >= MAX_DEPTH) throw tooDeep();
  for (const item of Array.isArray(value) ? value : Object.values(value)) checkDepth(item, depth + 1);
}

function check(operation: unknown): Operation {
  if (!isObject(operation)) throw new PatchError(400, 'error decoding patch: an operation is not an object');
  const { op, path, from, value } = operation;
  if (typeof op !== 'string') throw new PatchError(422, 'Unexpected kind: unknown');
  if (typeof path !== 'string')
    throw new PatchError(422, `${op} operation failed to decode path: unable to decode path field: missing value`);
  if ((op === 'move' || op === 'copy') && typeof from !== 'string') {
    throw new PatchError(422, `${op} operation failed to decode from: unable to decode from field: missing value`);
  }
  return { op, path, from: typeof from === 'string' ? from : undefined, value };
}

function run(work: PatchWork, { op, path, from = '', value }: Operation): void {
  switch (op) {
    case 'add':
      return insert(work, 'add', { path, value: value ?? null });
    case 'remove':
      return remove(work, 'remove', path);
    case 'replace':
      return replace(work, path, value ?? null);
    case 'move': {
      const moved = source(work, 'move', from);
      remove(work, 'move', from);
      return insert(work, 'move', { path, value: moved });
    }
    case 'copy':
      return insert(work, 'copy', { path, value: work.copies.copy(source(work, 'copy', from)) });
    case 'test':
      return test(work, path, value ?? null);
    default:
      throw new PatchError(422, `Unexpected kind: ${op}`);
  }
}

/** The value that `move` and `copy` read. */
function source(work: PatchWork, op: 'move' | 'copy', from: string): unknown {
  const key = steps(from).at(-1) ?? '';
  const parent = find(work, from.slice(0, from.lastIndexOf('/')));
  if (from === '' || !isContainer(parent))
    throw missing(`${op} operation does not apply: doc is missing from path: ${from}`);
  const value = child(parent, key);
  if (value !== undefined) return value;
  if (Array.isArray(parent)) {
    const where = op === 'move' ? `path: '${key}'` : `from: '${from}'`;
    throw missing(`error in ${op} for ${where}: unable to get nonexistent key: ${key}`);
  }
  if (op === 'move') throw missing(`error in move for path: '${key}': Unable to remove nonexistent key: ${key}`);
  // As upstream, an absent field is read as null.
  return null;
}

function test(work: PatchWork, path: string, wanted: unknown): void {
  if (path !== '') {
    const parent = find(work, path.slice(0, path.lastIndexOf('/')));
    if (!isContainer(parent)) throw missing(`test operation does not apply: is missing path: ${path}`);
    if (Array.isArray(parent)) checkIndex(parent, steps(path).at(-1) ?? '', path);
  }
  if (!equal(find(work, path) ?? null, wanted)) throw new PatchError(422, `testing value ${path} failed: test failed`);
}

/** Throws for an absent item; an absent field is read as null. */
function checkIndex(list: readonly unknown[], key: string, path: string): void {
  const index = indexOf(key, list.length);
  if (index === undefined)
    throw new PatchError(422, `error in test for path: '${path}': strconv.Atoi: parsing "${key}": invalid syntax`);
  if (index < 0 || index >= list.length) throw badIndex('test', path, key);
}

function insert(work: PatchWork, op: string, { path, value }: { path: string; value: unknown }): void {
  const at = parentOf(work, path);
  if (at === undefined) {
    const target = op === 'add' ? `path: "${path}"` : `destination path: ${path}`;
    throw missing(`${op} operation does not apply: doc is missing ${target}`);
  }
  const { parent, key } = at;
  if (!Array.isArray(parent)) return setOwn(parent, key, value);
  const index =
    key === '-' ? parent.length : key.startsWith('-') ? indexOf(key, parent.length + 1) : indexOf(key, parent.length);
  if (index === undefined)
    throw new PatchError(
      422,
      `error in ${op} for path: '${path}': value was not a proper array index: '${key}': strconv.Atoi: parsing "${key}": invalid syntax`,
    );
  if (index < 0 || index > parent.length) throw badIndex(op, path, key);
  countMoved(work, parent.length - index);
  parent.splice(index, 0, value);
}

/** Throws {@link PatchError} 413 when thousands of operations on a long array would take seconds. */
function countMoved(work: PatchWork, count: number): void {
  work.movedElements += count;
  if (work.movedElements <= MAX_MOVED_ELEMENTS) return;
  throw new PatchError(413, `The allowed maximum of array elements that a JSON patch moves is ${MAX_MOVED_ELEMENTS}`);
}

function remove(work: PatchWork, op: string, path: string): void {
  const at = parentOf(work, path);
  if (at === undefined) throw missing(`${op} operation does not apply: doc is missing path: "${path}"`);
  const { parent, key } = at;
  if (Array.isArray(parent)) {
    const index = indexOf(key, parent.length);
    if (index === undefined || index < 0 || index >= parent.length) throw badIndex(op, path, key);
    countMoved(work, parent.length - index);
    parent.splice(index, 1);
    return;
  }
  if (!Object.hasOwn(parent, key))
    throw missing(`error in ${op} for path: '${path}': Unable to remove nonexistent key: ${key}`);
  delete parent[key];
}

function replace(work: PatchWork, path: string, value: unknown): void {
  if (path === '') {
    // As upstream, only an object or a list can replace the whole document.
    if (isContainer(value)) work.root = value;
    return;
  }
  const at = parentOf(work, path);
  if (at === undefined) throw missing(`replace operation does not apply: doc is missing path: ${path}`);
  const { parent, key } = at;
  const index = Array.isArray(parent) ? (indexOf(key, parent.length) ?? -1) : -1;
  // As upstream, `replace` accepts an absent field.
  const present = !Array.isArray(parent) || (index >= 0 && index < parent.length);
  if (!present) throw missing(`replace operation does not apply: doc is missing key: ${path}`);
  put(parent, key, value);
}

/** Equality of JSON values; the order of keys does not matter. */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => equal(item, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]));
}
