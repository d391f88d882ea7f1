/**
 * How custom resources pass between the version of a request and the version in the store. Upstream:
 * crdConversionRESTOptionsGetter, schemaCoercingDecoder and schemaCoercingConverter of customresource_handler.go.
 *
 * A stored object is pruned and defaulted by the schema of the version in which it is stored. Another version is then
 * renamed, or converted by the webhook, and pruned by the schema of the requested version, whose defaults it does not
 * get. A written object is pruned by the schema of the storage version.
 */
import { DefaultsBudget, pruneUnknown } from '../../api/codec/prune.ts';
import { jsonOf, type KubernetesObject, objectOf } from '../../api/object.ts';
import type { VersionForms } from '../../api/managed-fields/other-versions.ts';
import type { StructSchema } from '../../api/schema/type-schema.ts';
import type { StoredConversion } from '../registry/resource-definition.ts';
import type { WebhookConversion } from './conversion.ts';
import { defaultCustom } from './custom-strategy.ts';

/** The versions of a definition. */
export interface CustomVersions {
  /** The schema of each version by its apiVersion. */
  readonly schemas: ReadonlyMap<string, StructSchema>;
  readonly forms: VersionForms;
  /** The apiVersion of the storage version. */
  readonly stored: string;
}

function pruned(schema: StructSchema, object: KubernetesObject): KubernetesObject {
  return objectOf(pruneUnknown(schema, jsonOf(object)).object);
}

/** Prunes and defaults a stored object, which may be older than the schema. The same object when nothing changes. */
function decoded(schema: StructSchema, stored: KubernetesObject): KubernetesObject {
  const clean = pruned(schema, stored);
  const draft = { ...clean };
  defaultCustom(schema, draft, new DefaultsBudget(false));
  const source = jsonOf(clean);
  const result = jsonOf(draft);
  const same = Object.keys(result).every((key) => result[key] === source[key]);
  return same ? clean : draft;
}

/** Reads and writes objects of one version. `key`: see {@link StoredConversion}. */
export function versionReading(
  { schemas, stored }: CustomVersions,
  { key, apiVersion, webhook }: { key: string; apiVersion: string; webhook: WebhookConversion | undefined },
): StoredConversion {
  const schema = schemas.get(apiVersion)!;
  const decode = (object: KubernetesObject): KubernetesObject =>
    decoded(schemas.get(object.apiVersion ?? '') ?? schema, object);
  const storedSchema = schemas.get(stored) ?? schema;
  return {
    key,
    read(object) {
      const own = decode(object);
      return own.apiVersion === apiVersion ? own : pruned(schema, { ...own, apiVersion });
    },
    write: (object) => pruned(storedSchema, { ...object, apiVersion: stored }),
    convert: webhook && {
      fromStored: (objects) => webhook.fromStored(objects.map(decode)),
      served: (converted) => pruned(schema, converted),
      toStored: async (object) => pruned(storedSchema, await webhook.toStored(object)),
    },
  };
}
