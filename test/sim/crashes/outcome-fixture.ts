/**
 * The outcome of a world, for the comparison of two runs: the remaining objects and all creations. Values that depend on chance
 * and time (uids, random ends of names, times, addresses) are replaced by what they stand for.
 */
import type { KubernetesObject } from '../../../src/api/object.ts';
import { prefixEnd, type Store, type StoreEvent } from '../../../src/storage/store.ts';

/** Equal worlds give equal outcomes. */
export interface Outcome {
  /** Every created object, sorted: one that was created twice occurs twice. */
  readonly made: readonly string[];
  /** The remaining objects, sorted. */
  readonly left: readonly string[];
}

/** The differences of two outcomes; empty when they are equal. */
export function differences(expected: Outcome, actual: Outcome): string[] {
  const lines = ({ made, left }: Outcome): string[] => [
    ...made.map((text) => `made ${text}`),
    ...left.map((text) => `left ${text}`),
  ];
  const count = (texts: readonly string[]): Map<string, number> =>
    new Map([...Map.groupBy(texts, (text) => text)].map(([text, all]) => [text, all.length]));
  const [wanted, found] = [count(lines(expected)), count(lines(actual))];
  return [...new Set([...wanted.keys(), ...found.keys()])].flatMap((text) => {
    const surplus = (found.get(text) ?? 0) - (wanted.get(text) ?? 0);
    return surplus === 0 ? [] : [`${surplus > 0 ? '+' : '-'}${Math.abs(surplus)} ${text}`];
  });
}

/** A recording. */
export interface Recorded {
  /** The outcome since the recording began. */
  outcome(): Outcome;
}

/** Records all changes of a store from now on. */
export async function recordOutcome(store: Store): Promise<Recorded> {
  const { revision } = await store.status();
  const first: Uint8Array[] = [];
  const last = new Map<string, Uint8Array>();
  const note = ({ key, value, revision, createRevision }: StoreEvent): void => {
    if (key.startsWith('/registry/events/')) return;
    if (value === undefined) return void last.delete(key);
    if (createRevision === revision) first.push(value);
    last.set(key, value);
  };
  store.watch(
    { start: '', end: prefixEnd(''), afterRevision: revision },
    {
      onEvents: (events) => events.forEach(note),
      onError(error) {
        throw error;
      },
    },
  );
  return {
    outcome() {
      const made = first.map(objectOf);
      const left = [...last.values()].map((value) => withoutCount(objectOf(value)));
      const plain = plainWords(made);
      return {
        made: made.map((object) => plain(titleOf(object))).sort(),
        left: left.map((object) => plain(JSON.stringify(object, replacer))).sort(),
      };
    },
  };
}

function objectOf(value: Uint8Array): KubernetesObject {
  return JSON.parse(new TextDecoder().decode(value)) as KubernetesObject;
}

/** How often a slice is changed depends on the order in which pods become ready. */
function withoutCount(object: KubernetesObject): KubernetesObject {
  if (object.kind !== 'EndpointSlice') return object;
  const { generation: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function titleOf({ kind = '', metadata: { namespace = '', name = '' } }: KubernetesObject): string {
  return `${kind} ${namespace}/${name}`;
}

/** Fields without meaning for the comparison: bytes that depend on a random key, and times. */
const LEFT_OUT = new Set([
  'managedFields',
  'resourceVersion',
  'certificate',
  'request',
  'lastScaleTime',
  'endpoints.kubernetes.io/last-change-trigger-time',
]);

/** Lists that are sets. */
const UNORDERED = new Set(['taints', 'conditions', 'secrets', 'finalizers']);

function byText(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}

function replacer(this: unknown, key: string, value: unknown): unknown {
  if (Array.isArray(value)) return UNORDERED.has(key) ? value.toSorted(byText) : value;
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).filter(([name]) => !LEFT_OUT.has(name));
  if (key === 'annotations' && entries.length === 0) return undefined;
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

const CHANCE: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+\d\d:\d\d)/g, '<time>'],
  [/\b10\.43\.\d+\.\d+\b/g, '<service address>'],
  [/csi-[0-9a-f]{64}/g, 'csi-*'],
  [/kube-api-access-[a-z0-9]{5}/g, 'kube-api-access-*'],
  [/-token-[a-z0-9]{5}\b/g, '-token-*'],
  [/\b10\.42\.\d+\.0\/24\b/g, '<pod range>'],
];

/** Replaces uids and generated names, the longest first, because one may be a part of another. */
function plainWords(objects: readonly KubernetesObject[]): (text: string) => string {
  const words = new Map<string, string>();
  for (const { kind = '', metadata } of objects) {
    const { name = '', uid, generateName } = metadata;
    const plain = generateName === undefined ? name : `${generateName}*`;
    if (generateName !== undefined) words.set(name, plain);
    if (uid !== undefined) words.set(uid, `<uid of ${kind} ${plain}>`);
  }
  const known = [...words].sort(([a], [b]) => b.length - a.length);
  const once = (text: string): string => {
    let result = text;
    for (const [word, plain] of known) result = result.replaceAll(word, plain);
    return result;
  };
  return (text) => {
    // The replacement may contain another name: a claim's name contains its pod's.
    let result = once(once(once(text)));
    for (const [pattern, plain] of CHANCE) result = result.replaceAll(pattern, plain);
    return result;
  };
}
