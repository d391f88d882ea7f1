/**
 * LIST. JSON is made by putting the cells' bytes one after another, yielding every 2 ms. Upstream:
 * endpoints/handlers.ListResource.
 */
import { stringifyJson } from '../../api/codec/json.ts';
import { asWritten } from '../../api/codec/written-form.ts';
import type { ListMeta } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { schemaOf } from '../../api/schema/schema.ts';
import type { StructSchema } from '../../api/schema/type-schema.ts';
import { badRequest } from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import { decodeContinue } from '../generic-registry/continue-token.ts';
import { asItem, type GenericStore } from '../generic-registry/generic-store.ts';
import { type ListPage, type ListRequest, listCells } from '../generic-registry/list.ts';
import type { ByteLease } from '../flowcontrol/byte-budget.ts';
import { selectionOf } from '../generic-registry/selection.ts';
import { type MediaForm, negotiate } from '../negotiation.ts';
import { warningHeaders } from '../warning-headers.ts';
import { answerPaceOf, type Pace, paceOf, Turns } from '../turns.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import type { Call } from './endpoint.ts';
import { checkListOptions, int64Param, revisionParam } from './options.ts';
import { type ItemList, PIECE_LENGTH, writeItems } from './list-writer.ts';
import type { Printer } from '../registry/resource-definition.ts';
import { includeObjectOf, partialMetadata, partialMetadataHead, tableHead, tableRow } from './table.ts';
import { headersFor, isPretty } from './write-object.ts';

const LIST_FORMS = ['Table', 'PartialObjectMetadataList'];
const itemStart = Buffer.from('{');
const nextItemStart = Buffer.from(',{');
const listEnd = Buffer.from(']}\n');

/** The list request in the query. Throws 400 and 422. */
export function listRequestOf({ store, scope }: Call): ListRequest {
  const { params, info } = scope;
  checkListOptions(params, false);
  int64Param(params, 'timeoutSeconds');
  const token = params.get('continue') ?? '';
  const revision = revisionParam(params);
  if (token !== '' && revision !== undefined && revision !== 0) {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  const limit = Math.max(0, Number(int64Param(params, 'limit') ?? 0));
  const match = params.get('resourceVersionMatch') ?? '';
  const exact = revision !== undefined && revision > 0 && (match === 'Exact' || (match === '' && limit > 0));
  return {
    namespace: info.namespace,
    selection: selectionOf(store, scope),
    limit,
    continue: token === '' ? undefined : decodeContinue(token),
    exactRevision: exact ? revision : undefined,
    minRevision: exact ? 0 : revision,
    pace: answerPaceOf(scope.request, store.services.clock),
    asker: scope,
  };
}

function metaOf(page: ListPage): ListMeta {
  return {
    resourceVersion: String(page.revision),
    ...(page.continueToken === undefined ? {} : { continue: page.continueToken }),
    ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
  };
}

export async function serveList(call: Call): Promise<ApiResponse> {
  return serveCells(call, await listCells(call.store, listRequestOf(call)));
}

/** The answer with these cells, in the form that is asked for. `nowMs`: ages in tables are as of then; absent: now. */
export async function serveCells(
  call: Pick<Call, 'store' | 'scope'>,
  page: ListPage,
  nowMs?: number,
): Promise<ApiResponse> {
  const { store, scope } = call;
  const { info } = store;
  const metadata = metaOf(page);
  const head = { kind: info.listKind, apiVersion: store.apiVersion, metadata };
  const custom = store.definition.schema !== undefined;
  const form = negotiate(scope.request.headers['accept'], { as: LIST_FORMS, protobuf: !custom, stream: false });
  const isMetadata = form.as === 'PartialObjectMetadataList';
  const clock = store.services.clock;
  if (scope.request.wantsObjects) {
    const answer = (object: object): ApiResponse => ({
      kind: 'object',
      status: 200,
      headers: warningHeaders(scope.warnings),
      object,
    });
    const items = await inTurns(paceOf(scope.request, clock), page.cells, (cell) =>
      isMetadata ? partialMetadata({ metadata: store.metadata(cell) }, form.asVersion) : store.object(cell),
    );
    return answer(isMetadata ? { ...partialMetadataHead(metadata, form.asVersion), items } : { ...head, items });
  }
  const headers = headersFor(form, scope);
  const { cells } = page;
  // Upstream's untyped lists have the token even where there is none.
  const listMeta = custom && form.as === undefined ? { continue: '', ...metadata } : metadata;
  if (form.key === 'json' && !isPretty(form, scope)) {
    const chunks = await inBudget(call, cells, () => joinCells(call, { ...head, metadata: listMeta }, page));
    return { kind: 'bytes', status: 200, headers, chunks };
  }
  const list: ObjectList = {
    form,
    count: cells.length,
    object: (index) => (isMetadata ? { metadata: store.metadata(cells[index]!) } : store.object(cells[index]!)),
    metadata: listMeta,
    schema: custom ? undefined : schemaOf(info.group, info.version, info.listKind),
    nowMs: nowMs ?? clock.nowMs(),
  };
  return inBudget(call, cells, (lease) => writeList(call, list, lease));
}

/** Smaller lists are not counted. */
const COUNTED_BYTES = 256 * 1024;

/** Makes an answer of the cells, or what begins a watch, once there is room for their bytes. Rejects with 429. */
export async function inBudget<T>(
  { store, scope }: Pick<Call, 'store' | 'scope'>,
  cells: readonly RevisionCell[],
  make: (lease: ByteLease | undefined) => Promise<T>,
): Promise<T> {
  let bytes = 0;
  for (const cell of cells) bytes += cell.byteLength;
  if (bytes < COUNTED_BYTES) return make(undefined);
  const entering = store.services.lists.enter(scope.user, bytes, scope.request.signal);
  const lease = entering instanceof Promise ? await scope.waitFor(entering) : entering;
  try {
    return await make(lease);
  } finally {
    lease.end();
  }
}

/** Makes something of each cell. */
export async function inTurns<T>(
  pace: Pace,
  cells: readonly RevisionCell[],
  make: (cell: RevisionCell) => T,
): Promise<readonly T[]> {
  const turns = new Turns(pace);
  const made: T[] = [];
  for (const cell of cells) {
    const due = turns.next();
    if (due !== undefined) await due;
    made.push(make(cell));
  }
  return made;
}

/** The objects of a list, and the client's format. */
export interface ObjectList {
  readonly form: MediaForm;
  readonly count: number;
  /** Makes one; for lists of metadata, that is all it needs to have. */
  readonly object: (index: number) => Pick<KubernetesObject, 'metadata'>;
  readonly metadata: ListMeta;
  readonly schema: StructSchema | undefined;
  /** Ages in tables are as of then; absent: now. */
  readonly nowMs?: number;
}

/** The object of each row of a table. */
function rowsInOrder(
  printer: Printer<KubernetesObject> | undefined,
  count: number,
  objectOf: (index: number) => KubernetesObject,
): (index: number) => KubernetesObject {
  if (printer?.compare === undefined) return objectOf;
  const sorted = Array.from({ length: count }, (_, index) => objectOf(index)).sort(printer.compare.bind(printer));
  return (index) => sorted[index]!;
}

/** The response with a list of objects. */
export async function writeList(
  { store, scope }: Pick<Call, 'store' | 'scope'>,
  list: ObjectList,
  lease?: ByteLease,
): Promise<ApiResponse> {
  const { form, count, object, metadata } = list;
  const { clock } = store.services;
  const { asVersion } = form;
  const turns = new Turns(answerPaceOf(scope.request, clock));
  const headers = headersFor(form, scope);
  const write = async (items: ItemList, schema: StructSchema | undefined): Promise<ApiResponse> => {
    const chunks = await writeItems(items, { form, schema, scope, turns, lease });
    return { kind: 'bytes', status: 200, headers, chunks };
  };
  if (form.as === 'Table') {
    const { printer } = store.definition;
    const include = includeObjectOf(scope.params);
    const table = { printer, version: asVersion, include, nowMs: list.nowMs ?? clock.nowMs(), metadata };
    const objectOfRow = rowsInOrder(printer, count, (index) => object(index) as KubernetesObject);
    const item = (index: number): object => tableRow(objectOfRow(index), table);
    return write({ head: tableHead(table), key: 'rows', count, item }, schemaOf('meta.k8s.io', asVersion, 'Table'));
  }
  if (form.as !== undefined) {
    const item = (index: number): object => partialMetadata(object(index), asVersion);
    const head = partialMetadataHead(metadata, asVersion);
    return write({ head, key: 'items', count, item }, schemaOf('meta.k8s.io', asVersion, 'PartialObjectMetadataList'));
  }
  const head = { kind: store.info.listKind, apiVersion: store.apiVersion, metadata };
  const isNamed = form.serialization === 'protobuf' || store.definition.schema !== undefined;
  const item = isNamed ? object : (index: number): object => asItem(asWritten(object(index) as KubernetesObject));
  return write({ head, key: 'items', count, item }, list.schema);
}

/**
 * What lists of the same cells in the same form share while one of them is being made or sent: many clients that list at
 * once cost one copy. Weak, so that nothing stays when the last is sent.
 */
const sharedItems = new WeakMap<GenericStore, WeakMap<readonly RevisionCell[], WeakRef<Promise<Uint8Array[]>>>>();
/** Keeps what is shared while its last piece has yet to be sent. */
const whileSent = new WeakMap<Uint8Array, Promise<Uint8Array[]>>();

async function joinCells(
  { store, scope }: Pick<Call, 'store' | 'scope'>,
  head: object,
  { cells }: ListPage,
): Promise<Uint8Array[]> {
  let byCells = sharedItems.get(store);
  if (byCells === undefined) sharedItems.set(store, (byCells = new WeakMap()));
  let items = byCells.get(cells)?.deref();
  const isShared = items !== undefined;
  if (items === undefined) {
    // Others may share them: they are made also when this client leaves.
    items = joinItems(store, cells, paceOf(scope.request, store.services.clock));
    byCells.set(cells, new WeakRef(items));
    items.catch(() => byCells.delete(cells));
  }
  const first = Buffer.from(`${stringifyJson(head).slice(0, -1)},"items":[`);
  const chunks = await items;
  // Otherwise all waiting requests would continue in the same turn.
  if (isShared) await scope.turn();
  whileSent.set(chunks.at(-1)!, items);
  // One small list is one piece; of a long one the pieces are shared and only the head is its own.
  return chunks.length === 1 ? [Buffer.concat([first, chunks[0]!])] : [first, ...chunks];
}

async function joinItems(store: GenericStore, cells: readonly RevisionCell[], pace: Pace): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  const turns = new Turns(pace);
  for (let index = 0; index < cells.length; index++) {
    const bytes = store.itemJson(cells[index]!);
    pending.push(index === 0 ? itemStart : nextItemStart, bytes);
    pendingBytes += bytes.length;
    if (pendingBytes < PIECE_LENGTH && (index & 63) !== 63) continue;
    if (pendingBytes >= PIECE_LENGTH) {
      chunks.push(Buffer.concat(pending));
      pending = [];
      pendingBytes = 0;
    }
    const due = turns.next();
    if (due !== undefined) await due;
  }
  pending.push(listEnd);
  chunks.push(Buffer.concat(pending));
  return chunks;
}
