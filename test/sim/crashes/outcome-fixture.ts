/**
 * What became of a world, so that two runs of it can be compared: the objects that are left and every creation there was.
 * What chance and time decide (uids, random ends of names, times, addresses) is replaced by what it stands for.
 */
import type { KubernetesObject } from '../../../src/api/object.ts';
import { prefixEnd, type Store, type StoreEvent } from '../../../src/storage/store.ts';

/** Comparable: equal worlds give equal outcomes. */
export interface Outcome {
  /** Every object that came into being, sorted: one that was made twice stands here twice. */
  readonly made: readonly string[];
  /** The objects that are left, sorted. */
  readonly left: readonly string[];
}

/** What one outcome has and the other has not. Empty: they are the same. */
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

/** What is being recorded. */
export interface Recorded {
  /** Everything since the recording began. */
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

/** How often a slice is changed depends on which pods are ready when. */
function withoutCount(object: KubernetesObject): KubernetesObject {
  if (object.kind !== 'EndpointSlice') return object;
  const { generation: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function titleOf({ kind = '', metadata: { namespace = '', name = '' } }: KubernetesObject): string {
  return `${kind} ${namespace}/${name}`;
}

/** What says nothing about the world, is bytes that a random key made, or a time that nobody keeps. */
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

/** Replaces uids and generated names, longest first: one may be a part of another. */
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
    // What stands for one may name another: a claim's name holds its pod's.
    let result = once(once(once(text)));
    for (const [pattern, plain] of CHANCE) result = result.replaceAll(pattern, plain);
    return result;
  };
}
