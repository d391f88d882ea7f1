/** Objects as tables and as bare metadata, as `kubectl get` asks for them. Upstream: endpoints/handlers/response.go, the table convertor. */
import type { ListMeta, TableColumnDefinition } from '../../api/gen/meta-v1.ts';
import { ageOf } from '../../api/age.ts';
import { asWritten } from '../../api/codec/written-form.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { badRequest } from '../../api/status-error.ts';
import type { Printer } from '../registry/resource-definition.ts';

const defaultPrinter: Printer<KubernetesObject> = {
  columns: [
    {
      name: 'Name',
      type: 'string',
      format: 'name',
      priority: 0,
      description: 'Name must be unique within a namespace.',
    },
    { name: 'Age', type: 'string', format: '', priority: 0, description: 'Time since the object was created.' },
  ],
  cells: (object, nowMs) => [object.metadata.name, ageOf(object.metadata.creationTimestamp, nowMs)],
};

/** How much of each object a row carries. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

/** Reads `includeObject`. Throws 400. */
export function includeObjectOf(params: URLSearchParams): IncludeObject {
  const value = params.get('includeObject') ?? '';
  if (value === '') return 'Metadata';
  if (value !== 'None' && value !== 'Metadata' && value !== 'Object') {
    throw badRequest(`unrecognized includeObject value: ${JSON.stringify(value)}`);
  }
  return value;
}

/** Metadata alone, under meta.k8s.io. */
export function partialMetadata({ metadata }: Pick<KubernetesObject, 'metadata'>, version: string): KubernetesObject {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata };
}

/** A list of bare metadata, without its items. */
export function partialMetadataHead(metadata: ListMeta, version: string): object {
  return { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${version}`, metadata };
}

export interface TableRequest {
  readonly printer: Printer<KubernetesObject> | undefined;
  readonly version: string;
  readonly include: IncludeObject;
  readonly nowMs: number;
  readonly metadata: ListMeta;
  /** Set for all but the first event of a watch: columns are sent once. */
  readonly withoutColumns?: boolean;
}

export function tableOf(objects: readonly KubernetesObject[], request: TableRequest): object {
  return { ...tableHead(request), rows: objects.map((object) => tableRow(object, request)) };
}

/** A table without its rows. */
export function tableHead({ printer = defaultPrinter, version, metadata, withoutColumns }: TableRequest): object {
  const columnDefinitions: readonly TableColumnDefinition[] | null = withoutColumns === true ? null : printer.columns;
  return { kind: 'Table', apiVersion: `meta.k8s.io/${version}`, metadata, columnDefinitions };
}

/** The row of one object. */
export function tableRow(
  object: KubernetesObject,
  { printer = defaultPrinter, version, include, nowMs }: TableRequest,
): object {
  return { cells: printer.cells(object, nowMs), object: rowObject(object, include, version) };
}

function rowObject(object: KubernetesObject, include: IncludeObject, version: string): object | null {
  if (include === 'None') return null;
  return include === 'Object' ? asWritten(object) : partialMetadata(object, version);
}
