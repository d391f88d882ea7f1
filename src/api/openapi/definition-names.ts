// Names of types in OpenAPI documents: `core.v1.Pod` is `io.k8s.api.core.v1.Pod`.

import type { AnySchema, ScalarName } from '../schema/type-schema.ts';

const PREFIXES: [string, string][] = [
  ['meta.', 'io.k8s.apimachinery.pkg.apis.meta.'],
  ['resource.Quantity', 'io.k8s.apimachinery.pkg.api.resource.Quantity'],
  ['intstr.', 'io.k8s.apimachinery.pkg.util.intstr.'],
  ['runtime.', 'io.k8s.apimachinery.pkg.runtime.'],
  ['version.', 'io.k8s.apimachinery.pkg.version.'],
  ['apiextensions.', 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.'],
  ['apiregistration.', 'io.k8s.kube-aggregator.pkg.apis.apiregistration.'],
];

export function definitionName(type: string): string {
  for (const [short, long] of PREFIXES) if (type.startsWith(short)) return long + type.slice(short.length);
  return `io.k8s.api.${type}`;
}

/** Scalars with a definition of their own. */
export const SCALAR_TYPES: Partial<Record<ScalarName, string>> = {
  quantity: 'resource.Quantity',
  time: 'meta.v1.Time',
  microTime: 'meta.v1.MicroTime',
  intOrString: 'intstr.IntOrString',
};

/** Definitions of free-form types by form. */
export const ANY_TYPES: Record<AnySchema['form'], string> = {
  object: 'runtime.RawExtension',
  fieldsV1: 'meta.v1.FieldsV1',
  json: 'apiextensions.v1.JSON',
  schemaOrArray: 'apiextensions.v1.JSONSchemaPropsOrArray',
  schemaOrBool: 'apiextensions.v1.JSONSchemaPropsOrBool',
  schemaOrStringArray: 'apiextensions.v1.JSONSchemaPropsOrStringArray',
};
