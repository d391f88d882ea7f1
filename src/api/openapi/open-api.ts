// The OpenAPI documents of a server: built at the first request and kept until the set of resources changes. The hash of a
// built-in v3 document is computed from its inputs, so that the index, which every kubectl reads, builds no document.

import { stringifyJson } from '../codec/json.ts';
import { allSteps, type Steps, stepByStep } from '../../base/steps.ts';
import type { JsonObject } from '../codec/own-property.ts';
import schemaData from '../gen/schema-data.json' with { type: 'json' };
import type { ResourceInfo } from '../resource-info.ts';
import { groupVersionRoot, type PathFact } from './operation-facts.ts';
import { type ForeignV2, mergeV2 } from './merge-v2.ts';
import { buildV2, type V2Document } from './v2.ts';
import { fingerprint, fingerprintSteps } from './fingerprint.ts';
import { encodeV2 } from './v2-protobuf.ts';
import { groupPath, serverPaths } from './server-operations.ts';
import { buildV3, mergeV3, serverV3, type V3Document } from './v3.ts';

export interface OpenApiConfig {
  /** The version at /version: `v1.36.0`. */
  readonly gitVersion: string;
  /** The built-in resources served. */
  readonly resources: readonly ResourceInfo[];
  /** Whether deleting an object of the resource returns the deleted object. Default: a Status. */
  readonly returnsDeleted?: (info: ResourceInfo) => boolean;
  /** Ready-made v3 documents of other group versions (custom resources), by path without leading slash. */
  readonly extraV3?: ReadonlyMap<string, V3Document>;
  /** Computes the paths and definitions of custom resources for v2. */
  readonly extraV2?: () => { readonly paths: JsonObject; readonly definitions: JsonObject };
  /** The v2 documents of other servers, with the paths that they serve. */
  readonly foreignV2?: readonly ForeignV2[];
  /** The v3 documents of other servers by path, served unchanged and instead of our own. */
  readonly foreignV3?: ReadonlyMap<string, DocumentText>;
}

/** The documents. Texts and bytes are computed once and shared by all readers. */
export interface OpenApi {
  /** The v3 index: `{ paths: { 'apis/apps/v1': { serverRelativeURL } } }`. */
  v3Index(): JsonObject;
  /** A v3 document's JSON text and its hash, by path without leading slash (`api/v1`), or undefined. */
  v3(path: string): DocumentText | undefined;
  /** The v2 document. It is built at each call, because the object is too large to keep. */
  v2(): V2Document;
  /** The v2 document's JSON text and its hash, computed in steps unless it exists. Concurrent callers share the work. */
  v2Text(pause: Pause): DocumentText | Promise<DocumentText>;
  /** The v2 document in protobuf, the form that kubectl requests. */
  v2Protobuf(pause: Pause): Uint8Array | Promise<Uint8Array>;
}

/** Lets other tasks run between two steps. */
type Pause = () => Promise<void> | undefined;

/** A document's text with its hash. */
export interface DocumentText {
  readonly text: string;
  readonly hash: string;
}

const dataHash = once(() => fingerprint(JSON.stringify(schemaData)));

/** By document: documents of custom resources outlive the `OpenApi`, which is created again at each change of the resources. */
const extraHashes = new WeakMap<V3Document, string>();

function hashOfExtra(document: V3Document): string {
  let hash = extraHashes.get(document);
  if (hash === undefined) extraHashes.set(document, (hash = fingerprint(stringifyJson(document))));
  return hash;
}

/** Builds no document yet. A change of the custom resources needs a new instance. */
export function createOpenApi(config: OpenApiConfig): OpenApi {
  const { gitVersion, resources, extraV2, foreignV2 = [], extraV3 = new Map<string, V3Document>() } = config;
  const { returnsDeleted = () => false, foreignV3 = new Map<string, DocumentText>() } = config;
  const groups = new Map<string, ResourceInfo[]>();
  const ofServer = pathsBeyondResources(resources);
  for (const info of resources) {
    const path = groupVersionRoot(info.group, info.version).slice(1);
    groups.set(path, [...(groups.get(path) ?? []), info]);
  }
  const hashes = new Map<string, string | undefined>();
  const hashOf = (path: string): string | undefined => {
    if (!hashes.has(path)) hashes.set(path, makeHash(path));
    return hashes.get(path);
  };
  const makeHash = (path: string): string | undefined => {
    const foreign = foreignV3.get(path);
    if (foreign !== undefined) return foreign.hash;
    const extra = extraV3.get(path);
    const builtin = groups.get(path);
    if (extra !== undefined && builtin === undefined) return hashOfExtra(extra);
    if (extra !== undefined) return fingerprint(stringifyJson(document(path)));
    const made = builtin?.map((info) => [info, returnsDeleted(info)]) ?? ofServer.get(path);
    return made === undefined ? undefined : fingerprint(JSON.stringify([gitVersion, dataHash(), made]));
  };
  /** A built-in group version may also contain custom resources. */
  const document = (path: string): V3Document => {
    const [builtin, extra] = [groups.get(path), extraV3.get(path)];
    if (builtin === undefined && extra !== undefined) return extra;
    const server = ofServer.get(path);
    if (builtin === undefined && server !== undefined) return serverV3([server], gitVersion);
    const own = buildV3({ resources: builtin ?? [], gitVersion, returnsDeleted });
    return extra === undefined ? own : mergeV3(own, extra);
  };
  const texts = new Map<string, DocumentText>();
  const v3 = (path: string): DocumentText | undefined => {
    const foreign = foreignV3.get(path);
    if (foreign !== undefined) return foreign;
    const hash = hashOf(path);
    if (hash === undefined) return undefined;
    let made = texts.get(path);
    if (made === undefined) texts.set(path, (made = { text: stringifyJson(document(path)), hash }));
    return made;
  };
  const v2Steps = function* (): Steps<V2Document> {
    const extra = extraV2?.();
    yield;
    const own = yield* buildV2({ resources, gitVersion, returnsDeleted }, extra);
    yield;
    return yield* mergeV2(own, foreignV2);
  };
  const v2TextSteps = function* (): Steps<DocumentText> {
    const v2Document = yield* v2Steps();
    yield;
    const text = yield* textSteps(v2Document);
    yield;
    return { text, hash: yield* fingerprintSteps(text) };
  };
  const v2ProtobufSteps = function* (): Steps<Uint8Array> {
    const v2Document = yield* v2Steps();
    yield;
    return yield* encodeV2(v2Document);
  };
  return {
    v3,
    v3Index: () => {
      const names = [...new Set([...groups.keys(), ...extraV3.keys(), ...foreignV3.keys(), ...ofServer.keys()])].sort();
      const entry = (path: string): JsonObject => ({
        serverRelativeURL: `/openapi/v3/${path}?hash=${hashOf(path) ?? ''}`,
      });
      return { paths: Object.fromEntries(names.map((path) => [path, entry(path)])) };
    },
    v2: () => allSteps(v2Steps()),
    v2Text: onceInSteps(v2TextSteps),
    v2Protobuf: onceInSteps(v2ProtobufSteps),
  };
}

/** The paths of documents that belong to no resource, by the document's path. */
function pathsBeyondResources(resources: readonly ResourceInfo[]): ReadonlyMap<string, PathFact> {
  const groups = new Set(resources.map(({ group }) => group).filter((group) => group !== ''));
  return new Map([
    ...Object.entries(serverPaths),
    ...[...groups].map((group) => [`apis/${group}`, groupPath(group)] as const),
  ]);
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** Runs the steps once: concurrent calls share the run. After a failure the next call runs them again. */
function onceInSteps<T>(steps: () => Steps<T>): (pause: Pause) => T | Promise<T> {
  let made: { value: T | Promise<T> } | undefined;
  return (pause) => {
    if (made !== undefined) return made.value;
    const value = stepByStep(steps(), pause);
    const mine = (made = { value });
    if (value instanceof Promise)
      value.then(
        (one) => (mine.value = one),
        () => (made = undefined),
      );
    return value;
  };
}

/** The text of `JSON.stringify`; each path and definition is one step. */
function* textSteps(document: V2Document): Steps<string> {
  const fields: string[] = [];
  for (const [key, value] of Object.entries(document)) {
    const isLarge = key === 'paths' || key === 'definitions';
    fields.push(`${JSON.stringify(key)}:${isLarge ? yield* entriesText(value as JsonObject) : stringifyJson(value)}`);
  }
  return `{${fields.join(',')}}`;
}

function* entriesText(entries: JsonObject): Steps<string> {
  const texts: string[] = [];
  for (const [name, value] of Object.entries(entries)) {
    texts.push(`${JSON.stringify(name)}:${stringifyJson(value)}`);
    yield;
  }
  return `{${texts.join(',')}}`;
}
