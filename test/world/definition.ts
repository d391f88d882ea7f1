/**
 * Custom resource definitions like those that generators of real projects write: long descriptions, deep nesting, several
 * versions.
 */
import { type Manifest, manifest } from './manifest.ts';

/** A schema of OpenAPI v3. */
export type Schema = Readonly<Record<string, unknown>>;

/** A version of a definition; the first of a list is the stored one. */
export interface Version {
  readonly name: string;
  readonly spec: Schema;
  readonly more?: Schema;
}

/** The parts in which definitions differ. */
export interface Definition {
  readonly group: string;
  readonly kind: string;
  readonly versions: readonly Version[];
  readonly isClusterScoped?: boolean;
  readonly more?: Schema;
}

/** The definition as a manifest, with a status whose fields are not declared. */
export function definitionOf({ group, kind, versions, isClusterScoped = false, more = {} }: Definition): Manifest {
  const singular = kind.toLowerCase();
  const names = { kind, listKind: `${kind}List`, plural: `${singular}s`, singular, categories: ['world'] };
  return manifest(
    'apiextensions.k8s.io/v1',
    'CustomResourceDefinition',
    { name: `${singular}s.${group}` },
    {
      spec: {
        group,
        names,
        scope: isClusterScoped ? 'Cluster' : 'Namespaced',
        versions: versions.map(({ name, spec, more: moreOfVersion = {} }, index) => ({
          name,
          served: true,
          storage: index === 0,
          subresources: { status: {} },
          additionalPrinterColumns: [{ name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }],
          schema: { openAPIV3Schema: rootOf(spec) },
          ...moreOfVersion,
        })),
        ...more,
      },
    },
  );
}

function rootOf(spec: Schema): Schema {
  const text = { type: 'string' };
  const status = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    type: 'object',
    required: ['spec'],
    properties: { apiVersion: text, kind: text, metadata: { type: 'object' }, spec, status },
  };
}

/** An object schema with these properties. */
export function objectOf(properties: Schema, more: Schema = {}): Schema {
  return { type: 'object', properties, ...more };
}

/** A list schema with these items. */
export function arrayOf(items: Schema, maxItems: number, more: Schema = {}): Schema {
  return { type: 'array', items, maxItems, ...more };
}

/** A text schema with a limit. */
export function textOf(maxLength: number, more: Schema = {}): Schema {
  return { type: 'string', maxLength, ...more };
}

/** Rules of an object, with the message of each. */
export function rulesOf(...rules: readonly string[]): Schema {
  return { 'x-kubernetes-validations': rules.map((rule) => ({ rule, message: `it does not hold: ${rule}` })) };
}

/** As many fields as a pod template has, repeatedly: `breadth` groups of some 3 KB for each of `depth` levels. */
export function largeSpec(breadth: number, depth: number): Schema {
  const description =
    'What the controller does with this field where the object has it, and what it does otherwise. '.repeat(3);
  const properties: Record<string, Schema> = {
    command: { description, ...arrayOf({ type: 'string' }, 64) },
    image: { description, type: 'string' },
    limit: { description, 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
    labels: { description, type: 'object', additionalProperties: { type: 'string' } },
    policy: { description, type: 'string', enum: ['Always', 'Never', 'OnFailure'], default: 'Always' },
    ports: {
      description,
      ...arrayOf(
        objectOf({ name: { type: 'string' }, port: { type: 'integer', format: 'int32' } }, { required: ['name'] }),
        32,
        {
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        },
      ),
    },
  };
  for (let group = 0; depth > 0 && group < breadth; group++)
    properties[`group${group}`] = largeSpec(breadth, depth - 1);
  return { description, ...objectOf(properties) };
}
