/**
 * Files made from ConfigMaps, Secrets and the pod's own fields, for the config map, secret, downward API and
 * projected volumes. Upstream: MakePayload in pkg/volume/{configmap,secret}, CollectData in pkg/volume/downwardapi.
 */
import { getOwn } from '../../api/codec/own-property.ts';
import { getOrMake } from '../../base/get-or-make.ts';
import type { ConfigMap, DownwardAPIVolumeFile, KeyToPath, Pod, Secret } from '../../api/gen/core-v1.ts';
import { findContainer } from '../runtime/pod-facts.ts';
import { podFieldValue, resourceFieldValue, type NodeFacts } from '../runtime/field-refs.ts';
import type { Payload, ProjectedFile } from './atomic-writer.ts';

/** The keys to take from an object, and their paths. */
export interface KeySelection {
  readonly items: readonly KeyToPath[] | undefined;
  readonly defaultMode: number;
  readonly optional: boolean;
}

/** The default of `defaultMode`. */
export const DEFAULT_FILE_MODE = 0o644;

/** The keys of an object, and a function that decodes one. */
interface Contents {
  keys(): Iterable<string>;
  get(key: string): Uint8Array | undefined;
}

/** Selects keys. Only these are decoded: each of a thousand sources may select one of thousands of keys. */
function select(
  contents: Contents,
  selection: KeySelection,
  missing: (key: string) => string,
): Map<string, ProjectedFile> {
  const payload = new Map<string, ProjectedFile>();
  const { items = [], defaultMode, optional } = selection;
  if (items.length === 0) {
    for (const key of contents.keys()) payload.set(key, { data: contents.get(key)!, mode: defaultMode });
    return payload;
  }
  for (const item of items) {
    const data = contents.get(item.key);
    if (data !== undefined) payload.set(normalized(item.path), { data, mode: item.mode ?? defaultMode });
    else if (!optional) throw new Error(missing(item.key));
  }
  return payload;
}

function normalized(path: string): string {
  return path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');
}

/** Values by what they were read from, and by name. Thousands of files of one volume may be the same megabyte: they share it. */
const sharedValues = new WeakMap<object, Map<string, WeakRef<Uint8Array>>>();

function shared(source: object, name: string, read: () => Uint8Array): Uint8Array {
  const values = getOrMake(sharedValues, source, () => new Map<string, WeakRef<Uint8Array>>());
  let bytes = values.get(name)?.deref();
  if (bytes === undefined) values.set(name, new WeakRef((bytes = read())));
  return bytes;
}

/** The decoded value of a key. */
function decoded(
  data: Readonly<Record<string, string>>,
  key: string,
  encoding: 'utf8' | 'base64',
): Uint8Array | undefined {
  const text = getOwn(data, key);
  if (text === undefined) return undefined;
  return shared(data, `${encoding} ${key}`, () => Buffer.from(text, encoding));
}

/** Files of a config map. Throws upstream's error when a required key is missing. */
export function configMapPayload({ data = {}, binaryData = {} }: ConfigMap, selection: KeySelection): Payload {
  const contents: Contents = {
    keys: () => [...Object.keys(data), ...Object.keys(binaryData)],
    get: (key) => decoded(binaryData, key, 'base64') ?? decoded(data, key, 'utf8'),
  };
  return select(contents, selection, (key) => `configmap references non-existent config key: ${key}`);
}

/** Files of a secret. */
export function secretPayload({ data = {} }: Secret, selection: KeySelection): Payload {
  const contents: Contents = {
    keys: () => Object.keys(data),
    get: (key) => decoded(data, key, 'base64'),
  };
  return select(contents, selection, (key) => `references non-existent secret key: ${key}`);
}

/** Files of the pod's own fields. */
export function downwardPayload(input: {
  readonly items: readonly DownwardAPIVolumeFile[] | undefined;
  readonly pod: Pod;
  readonly node: NodeFacts;
  readonly defaultMode: number;
}): Payload {
  const payload = new Map<string, ProjectedFile>();
  for (const item of input.items ?? []) {
    const read = (): Uint8Array => Buffer.from(downwardText(item, input.pod, input.node));
    const path = item.fieldRef?.fieldPath;
    payload.set(normalized(item.path), {
      // Labels and annotations may be a megabyte.
      data: path?.startsWith('metadata.') === true ? shared(input.pod.metadata, path, read) : read(),
      mode: item.mode ?? input.defaultMode,
    });
  }
  return payload;
}

function downwardText(item: DownwardAPIVolumeFile, pod: Pod, node: NodeFacts): string {
  if (item.fieldRef !== undefined) return podFieldValue({ selector: item.fieldRef, pod, podIps: [], node });
  const selector = item.resourceFieldRef;
  if (selector === undefined) throw new Error(`downward API file ${item.path} names neither a field nor a resource`);
  const container = findContainer(pod, selector.containerName ?? '');
  if (container === undefined) throw new Error(`container ${selector.containerName ?? ''} not found`);
  return resourceFieldValue({ selector, pod, container, node });
}
