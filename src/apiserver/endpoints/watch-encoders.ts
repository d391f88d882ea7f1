/** Encoders of watch events: objects, JSON lines, protobuf frames, tables, bare metadata. */
import type { JsonObject } from '../../api/codec/own-property.ts';
import { builtinSchema, encodeProtobuf, encodeWatchFrame } from '../../api/codec/protobuf.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { INITIAL_EVENTS_END, type ObjectEvent } from '../../api/transport.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import { lineOf } from '../json-text.ts';
import type { MediaForm } from '../negotiation.ts';
import type { CacheEvent } from '../watch-cache/cache-event.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import type { WatchEncoder, WatchEventType } from '../watch-cache/watcher.ts';
import { type IncludeObject, partialMetadata, tableOf } from './table.ts';

const lineEnd = Buffer.from('}\n');
/** The object's own end of line, which the event's replaces. */
const OWN_LINE_END_BYTES = 1;

function bookmarkObject(store: GenericStore, revision: number, isEnd: boolean): KubernetesObject {
  const annotations = isEnd ? { annotations: { [INITIAL_EVENTS_END]: 'true' } } : {};
  return {
    kind: store.info.kind,
    apiVersion: store.apiVersion,
    metadata: { resourceVersion: String(revision), ...annotations },
  };
}

/** Events for callers in this process. */
export function objectEncoder(store: GenericStore, form: MediaForm): WatchEncoder<ObjectEvent> {
  const shape = (cell: RevisionCell): KubernetesObject =>
    form.as === 'PartialObjectMetadata'
      ? partialMetadata({ metadata: store.metadata(cell) }, form.asVersion)
      : store.object(cell);
  return {
    event: (type, cell) => ({ type, object: shape(cell) }),
    bookmark: (revision, isEnd) => ({ type: 'BOOKMARK', object: bookmarkObject(store, revision, isEnd) }),
    error: (status) => ({ type: 'ERROR', object: status }),
  };
}

function sharedFrame(source: CacheEvent | undefined, key: string, make: () => Uint8Array): Uint8Array {
  if (source === undefined) return make();
  source.frames ??= new Map();
  let frame = source.frames.get(key);
  if (frame === undefined) source.frames.set(key, (frame = make()));
  return frame;
}

const starts = new Map<WatchEventType, Buffer>();

function lineStart(type: WatchEventType): Buffer {
  let start = starts.get(type);
  if (start === undefined) starts.set(type, (start = Buffer.from(`{"type":"${type}","object":`)));
  return start;
}

/** `line`: the object's JSON and the end of its line. */
function eventLine(type: WatchEventType, line: Uint8Array): Uint8Array {
  return Buffer.concat([lineStart(type), line.subarray(0, -OWN_LINE_END_BYTES), lineEnd]);
}

/** Events in the form a network client takes. Tables carry their columns in the first event only. */
export function frameEncoder(store: GenericStore, form: MediaForm, include: IncludeObject): WatchEncoder<Uint8Array> {
  const write =
    form.serialization === 'protobuf'
      ? protobufFrame
      : (type: WatchEventType, object: object) => eventLine(type, lineOf(object));
  const plainJson = form.key === 'json';
  let columnsSent = false;
  const table = (object: KubernetesObject, withoutColumns: boolean): object => {
    const { resourceVersion = '' } = object.metadata;
    const { printer } = store.definition;
    return tableOf([object], {
      printer,
      version: form.asVersion,
      include,
      nowMs: store.services.clock.nowMs(),
      metadata: { resourceVersion },
      withoutColumns,
    });
  };
  const shape = (object: KubernetesObject): object => {
    if (form.as === 'PartialObjectMetadata') return partialMetadata(object, form.asVersion);
    if (form.as !== 'Table') return object;
    const withoutColumns = columnsSent;
    columnsSent = true;
    return table(object, withoutColumns);
  };
  const make = (type: WatchEventType, cell: RevisionCell): Uint8Array => {
    if (plainJson) return eventLine(type, store.jsonLine(cell));
    if (form.as !== 'PartialObjectMetadata') return write(type, shape(store.object(cell)));
    return write(type, partialMetadata({ metadata: store.metadata(cell) }, form.asVersion));
  };
  const key = (type: WatchEventType): string => `${store.apiVersion} ${form.key} ${type}`;
  return {
    added: form.as === 'Table' ? (cell) => write('ADDED', table(store.object(cell), true)) : undefined,
    event: (type, cell, source) =>
      form.as === 'Table' ? make(type, cell) : sharedFrame(source, key(type), () => make(type, cell)),
    bookmark: (revision, isEnd) => write('BOOKMARK', shape(bookmarkObject(store, revision, isEnd))),
    error: (status) => write('ERROR', status),
  };
}

function protobufFrame(type: WatchEventType, object: object): Uint8Array {
  const { apiVersion = '', kind = '' } = object as { apiVersion?: string; kind?: string };
  const schema = builtinSchema(apiVersion, kind);
  if (schema === undefined) throw new Error(`no protobuf form of ${apiVersion} ${kind}`);
  return encodeWatchFrame(type, encodeProtobuf(schema, object as JsonObject));
}
