/**
 * The storage of one resource for the verbs: keys, the cache, conversion between the served and the stored version.
 * Upstream: genericregistry.Store. The verbs are in other files of this folder.
 */
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { FieldSelector } from '../../api/field-selector.ts';
import type { JsonObject } from '../../api/codec/own-property.ts';
import { decodeTyped } from '../../api/codec/typed.ts';
import { stringifyJson } from '../../api/codec/json.ts';
import { asWritten } from '../../api/codec/written-form.ts';
import type { ObjectMeta } from '../../api/gen/meta-v1.ts';
import { type KubernetesObject, objectOf, type Stored } from '../../api/object.ts';
import { apiVersionOf, type ResourceInfo } from '../../api/resource-info.ts';
import { schemaOf } from '../../api/schema/schema.ts';
import type { StructSchema } from '../../api/schema/type-schema.ts';
import { type GroupResource, notFound } from '../../api/status-error.ts';
import { lineOf } from '../json-text.ts';
import type { StoredConversion, ResourceDefinition } from '../registry/resource-definition.ts';
import { type RevisionCell, withResourceVersion } from '../watch-cache/revision-cell.ts';
import { Turns } from '../turns.ts';
import { WatchCache } from '../watch-cache/watch-cache.ts';
import type { RegistryServices } from './services.ts';

/** Names one object; namespace '' for cluster-scoped ones. */
export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** Fields of objects that selectors may name. */
export type FieldsOf = Readonly<Record<string, string>>;

type Converting = StoredConversion & Required<Pick<StoredConversion, 'convert'>>;

/** One resource in one version over its storage. */
export class GenericStore {
  readonly definition: ResourceDefinition;
  readonly services: RegistryServices;
  readonly info: ResourceInfo;
  readonly apiVersion: string;
  /** For error texts. */
  readonly groupResource: GroupResource;
  readonly cache: WatchCache;
  /** Serializes writers of a large object that lost a race, by key. */
  readonly largeRetries = new KeyedMutex();
  /** The definition whose version is stored. */
  readonly stored: ResourceDefinition;
  #schema: StructSchema | undefined;
  /** The first bytes of stored objects in this version. */
  readonly #head: Buffer;
  /** The number of those bytes before the version. */
  readonly #kindLength: number;
  #fieldsView: string | undefined;

  constructor(definition: ResourceDefinition, stored: ResourceDefinition, services: RegistryServices) {
    this.definition = definition;
    this.stored = stored;
    this.services = services;
    this.info = definition.info;
    this.apiVersion = apiVersionOf(definition.info);
    this.groupResource = { group: definition.info.group, resource: definition.info.resource };
    const kind = `{"kind":${JSON.stringify(definition.info.kind)},"apiVersion":`;
    this.#kindLength = Buffer.byteLength(kind);
    this.#head = Buffer.from(`${kind}${JSON.stringify(this.apiVersion)},`);
    const { storagePrefix } = definition;
    this.cache = storagePrefix === '' ? new WatchCache('', () => undefined) : services.hub.cache(storagePrefix);
  }

  /** The schema of the served version. */
  get schema(): StructSchema {
    const { group, version, kind } = this.info;
    this.#schema ??= this.definition.schema ?? schemaOf(group, version, kind);
    if (this.#schema === undefined) throw new Error(`no schema for ${this.apiVersion} ${kind}`);
    return this.#schema;
  }

  /** The store's key of an object. */
  keyOf({ namespace, name }: ObjectName): string {
    const { storagePrefix } = this.definition;
    return this.info.namespaced ? `${storagePrefix}${namespace}/${name}` : storagePrefix + name;
  }

  /** The key prefix of a list; namespace '' means all. */
  prefixOf(namespace: string): string {
    const { storagePrefix } = this.definition;
    return this.info.namespaced && namespace !== '' ? `${storagePrefix}${namespace}/` : storagePrefix;
  }

  /** The newest cell of an object. Throws 404. */
  cell(objectName: ObjectName): RevisionCell {
    const cell = this.cache.get(this.keyOf(objectName));
    if (cell === undefined) throw notFound(this.groupResource, objectName.name);
    return cell;
  }

  /** A cell's object in the served version. */
  object(cell: RevisionCell): Stored<KubernetesObject> {
    const { definition, stored } = this;
    const { reading } = definition;
    if (reading !== undefined) {
      return cell.view(reading.key, () => {
        if (reading.convert === undefined || cell.object().apiVersion === this.apiVersion)
          return reading.read(cell.object()) as Stored<KubernetesObject>;
        if (cell.origin === undefined) throw new Error(`${cell.key} was read before it was converted`);
        return withResourceVersion(this.object(cell.origin), cell.revision);
      });
    }
    if (definition === stored) {
      const object = cell.object();
      return object.apiVersion === this.apiVersion ? object : this.#converted(cell);
    }
    return this.#converted(cell);
  }

  /** The metadata of a cell's object in the served version, without decoding the rest where that is possible. */
  metadata(cell: RevisionCell): ObjectMeta {
    const { definition, stored } = this;
    const isPlain = definition === stored && definition.reading?.convert === undefined;
    return (isPlain ? cell.metadata(this.#head) : undefined) ?? this.object(cell).metadata;
  }

  #needsConversion(cell: RevisionCell): boolean {
    const { reading } = this.definition;
    if (reading?.convert === undefined || cell.hasView(reading.key)) return false;
    const kind = this.#head.subarray(0, this.#kindLength);
    const json = cell.jsonLine();
    // The bytes show the version of nearly every object; decoding thousands takes long.
    if (startsWith(json, kind)) return !startsWith(json, this.#head);
    return cell.object().apiVersion !== this.apiVersion;
  }

  /**
   * Converts cells that need a conversion webhook, so that they can be read; call it for all cells before anything
   * else. Undefined when there is nothing to convert, as for nearly all resources. Rejects with StatusErrors.
   */
  prepare(cells: readonly RevisionCell[]): Promise<void> | undefined {
    const { reading } = this.definition;
    if (reading?.convert === undefined) return undefined;
    const waiting = cells.map((cell) => cell.origin ?? cell).filter((cell) => this.#needsConversion(cell));
    return waiting.length === 0 ? undefined : this.#convert(waiting, reading as Converting);
  }

  async #convert(cells: readonly RevisionCell[], { key, convert }: Converting): Promise<void> {
    const turns = new Turns(this.services.clock);
    for (const batch of batchesOf(cells)) {
      const converted = await convert.fromStored(batch.map((cell) => cell.object()));
      for (const [index, cell] of batch.entries()) {
        await turns.next();
        cell.setView(key, convert.served(converted[index]!));
      }
    }
  }

  /** Converts from another version; objects of older servers get the defaults of newer fields. */
  #converted(cell: RevisionCell): Stored<KubernetesObject> {
    return cell.view(this.apiVersion, () => {
      const object = cell.object();
      if (object.apiVersion === this.apiVersion) return object;
      const { conversion, strategy } = this.definition;
      const converted = conversion === undefined ? object : conversion.fromStored(object);
      // A copy: the defaults below must not change the stored object.
      const named = { ...converted, apiVersion: this.apiVersion, kind: this.info.kind };
      const renamed = objectOf<Stored<KubernetesObject>>(decodeTyped(this.schema, named).object);
      strategy.applyDefaults?.(renamed);
      return renamed;
    });
  }

  /** The cell's object in the served version as a line of JSON. */
  jsonLine(cell: RevisionCell): Uint8Array {
    const { reading } = this.definition;
    if (reading !== undefined) {
      const object = this.object(cell);
      if (object === cell.object()) return cell.jsonLine();
      return cell.view(`${reading.key} json`, () => lineOf(object));
    }
    if (this.definition === this.stored) {
      const json = cell.jsonLine();
      if (startsWith(json, this.#head)) return json;
      if (cell.object().apiVersion === this.apiVersion) return json;
    }
    return cell.view(`${this.apiVersion} json`, () => lineOf(this.object(cell)));
  }

  /** The same line in pieces, for a response that is written once. */
  jsonPieces(cell: RevisionCell): readonly Uint8Array[] {
    if (this.definition.reading === undefined && this.definition === this.stored) {
      const pieces = cell.jsonPieces();
      if (startsWith(pieces[0]!, this.#head)) return pieces;
    }
    return [this.jsonLine(cell)];
  }

  /**
   * A cell's JSON as an item of a list, without its opening brace. Items of built-in kinds omit kind and version,
   * which follow from the list's.
   */
  itemJson(cell: RevisionCell): Uint8Array {
    const line = this.jsonLine(cell);
    if (this.definition.schema !== undefined) return line.subarray(1, -1);
    if (startsWith(line, this.#head)) return line.subarray(this.#head.length, -1);
    return Buffer.from(stringifyJson(asItem(asWritten(this.object(cell))))).subarray(1);
  }

  /** Converts an object of the served version to the stored one. Rejects with StatusErrors. */
  toStored(object: KubernetesObject): KubernetesObject | Promise<KubernetesObject> {
    if (this.definition === this.stored) return object;
    const { conversion, reading } = this.definition;
    if (reading?.convert !== undefined) return reading.convert.toStored(object);
    if (reading?.write !== undefined) return reading.write(object);
    const { info } = this.stored;
    const converted = conversion === undefined ? object : conversion.toStored(object);
    return { ...converted, apiVersion: apiVersionOf(info), kind: info.kind };
  }

  /** A cell's fields for field selectors. */
  fields(cell: RevisionCell): FieldsOf {
    this.#fieldsView ??= `${this.definition.reading?.key ?? this.apiVersion} fields`;
    return cell.view(this.#fieldsView, () => this.fieldsOf(this.object(cell)));
  }

  /** An object's fields for field selectors. */
  fieldsOf(object: KubernetesObject): FieldsOf {
    const base: Record<string, string> = { 'metadata.name': object.metadata.name ?? '' };
    if (this.info.namespaced) base['metadata.namespace'] = object.metadata.namespace ?? '';
    return { ...base, ...this.definition.selectableFields?.(object) };
  }

  /** The selector's first field that this resource does not support, if any. */
  unknownField(selector: FieldSelector): string | undefined {
    let known: FieldsOf | undefined;
    const isPlain = this.definition.selectableFields === undefined && this.definition.schema === undefined;
    for (const { field } of selector) {
      // Built-in kinds without fields of their own accept a namespace even if cluster-scoped.
      if (field === 'metadata.name' || (field === 'metadata.namespace' && (this.info.namespaced || isPlain))) continue;
      known ??= this.definition.selectableFields?.(this.emptyObject()) ?? {};
      if (!Object.hasOwn(known, field)) return field;
    }
    return undefined;
  }

  /** The zero object, canonical. */
  emptyObject(): KubernetesObject {
    return {
      apiVersion: this.apiVersion,
      kind: this.info.kind,
      metadata: {},
      spec: {},
      status: {},
    } as KubernetesObject & JsonObject;
  }
}

/** The object as an item of a list of its kind. */
export function asItem({ kind: _, apiVersion: _version, ...item }: KubernetesObject): object {
  return item;
}

function startsWith(bytes: Uint8Array, head: Buffer): boolean {
  return bytes.length >= head.length && Buffer.compare(head, bytes.subarray(0, head.length)) === 0;
}

/** The most bytes converted in one call, since request and response are each encoded and decoded in one turn. */
const BATCH_BYTES = 1024 * 1024;

function* batchesOf(cells: readonly RevisionCell[]): Generator<readonly RevisionCell[]> {
  let batch: RevisionCell[] = [];
  let bytes = 0;
  for (const cell of cells) {
    if (batch.length > 0 && bytes + cell.byteLength > BATCH_BYTES) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(cell);
    bytes += cell.byteLength;
  }
  if (batch.length > 0) yield batch;
}
