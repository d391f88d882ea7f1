/**
 * Objects as a webhook sees them: in the version that its rule names, and of the sub-resource's kind (a Scale for
 * `scale`, a Binding for `binding`). A webhook's changes are written into the request's draft in place, since later
 * steps share the draft. Upstream: admission.VersionedAttributes and generic.NewVersionedAttributes.
 */
import type { Scale } from '../../api/gen/autoscaling-v1.ts';
import type { JsonObject } from '../../api/codec/own-property.ts';
import { canonicalize } from '../../api/codec/canonical.ts';
import { decodeTyped } from '../../api/codec/typed.ts';
import { type KubernetesObject, jsonOf, objectOf } from '../../api/object.ts';
import { apiVersionOf } from '../../api/resource-info.ts';
import { schemaOf } from '../../api/schema/schema.ts';
import type { StructSchema } from '../../api/schema/type-schema.ts';
import { scaleOf } from '../endpoints/scale-object.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import { convertObject } from './equivalent-resources.ts';

/** Group, version and kind. */
export interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** The kind of objects in requests on the (sub-)resource. */
export function kindFor({ info }: GenericStore, subresource: string): Kind {
  const sub = subresource === '' ? undefined : info.subresources.find(({ name }) => name === subresource);
  const { group, version, kind } = sub ?? info;
  return { group, version, kind };
}

function isOwnKind(store: GenericStore, kind: Kind): boolean {
  return kind.kind === store.info.kind && kind.group === store.info.group && kind.version === store.info.version;
}

/** Objects of one request for one version. */
export interface ReviewObjects {
  readonly kind: Kind;
  readonly schema: StructSchema;
  /**
   * A private copy in the webhook's version. A promise, which may reject with a StatusError, where a conversion
   * webhook is called.
   */
  show(object: KubernetesObject): JsonObject | Promise<JsonObject>;
  /** Decodes the object that a webhook returned: drops unknown fields and sets defaults. Throws `DecodeError`. */
  decode(value: unknown): JsonObject;
  /** Writes a decoded object into the draft. A promise as for `show`. */
  store(decoded: JsonObject, draft: KubernetesObject): void | Promise<void>;
}

/** The view of a webhook that is called for the version `as` of the resource `own`. */
export function reviewObjects(own: GenericStore, as: GenericStore, subresource: string): ReviewObjects {
  const kind = kindFor(as, subresource);
  const { scale } = own.definition;
  if (subresource === 'scale' && scale !== undefined) {
    return {
      kind,
      schema: schemaFor(kind),
      show: (object) => jsonOf(scaleOf(object, scale)),
      decode: decoderOf(schemaFor(kind), () => undefined),
      store: (decoded, draft) => scale.write(draft, objectOf<Scale>(decoded).spec?.replicas ?? 0),
    };
  }
  if (!isOwnKind(as, kind)) {
    return {
      kind,
      schema: schemaFor(kind),
      show: (object) => canonicalize(schemaFor(kind), { ...object, apiVersion: apiVersionOf(kind), kind: kind.kind }),
      decode: decoderOf(schemaFor(kind), () => undefined),
      store: replaceIn,
    };
  }
  return {
    kind,
    schema: as.schema,
    show: (object) => {
      const converted = convertObject(object, own, as);
      return converted instanceof Promise ? converted.then(jsonOf) : jsonOf(converted);
    },
    decode: decoderOf(as.schema, (object) => as.definition.strategy.applyDefaults?.(object)),
    store: (decoded, draft) => {
      if (as === own) return replaceIn(decoded, draft);
      const converted = convertObject(objectOf(decoded), as, own);
      if (!(converted instanceof Promise)) return replaceIn(jsonOf(converted), draft);
      return converted.then((object) => replaceIn(jsonOf(object), draft));
    },
  };
}

function schemaFor({ group, version, kind }: Kind): StructSchema {
  const schema = schemaOf(group, version, kind);
  if (schema === undefined) throw new Error(`no schema for ${apiVersionOf({ group, version })} ${kind}`);
  return schema;
}

function decoderOf(schema: StructSchema, applyDefaults: (object: KubernetesObject) => void): ReviewObjects['decode'] {
  return (value) => {
    const { object } = decodeTyped(schema, value, { mode: 'Ignore', duplicates: [] });
    applyDefaults(objectOf(object));
    return canonicalize(schema, object);
  };
}

function replaceIn(decoded: JsonObject, draft: KubernetesObject): void {
  const target = jsonOf(draft);
  for (const key of Object.keys(target)) if (!Object.hasOwn(decoded, key)) delete target[key];
  Object.assign(target, decoded);
}
