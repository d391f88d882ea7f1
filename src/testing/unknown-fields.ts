/** Proposes the intended field for one that the API server refuses as unknown. */
import type { CustomResourceDefinition } from '../api/gen/apiextensions-v1.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { schemaOf } from '../api/schema/schema.ts';
import { structuralSchema } from '../api/schema/structural.ts';
import type { TypeSchema } from '../api/schema/type-schema.ts';
import { StatusError } from '../api/status-error.ts';
import { nearestName } from '../base/nearest-name.ts';

/** The errors of field validation, and of server-side apply. */
const REFUSALS = [/unknown field "([^"]+)"/g, /\.([^:\s]+): field not declared in schema/g];

/** Adds proposals to the error about unknown fields. Other errors are returned unchanged. */
export function proposeFields(
  error: unknown,
  info: ResourceInfo,
  definitions: () => readonly CustomResourceDefinition[],
): void {
  if (!(error instanceof StatusError) || !REFUSALS.some((pattern) => error.message.search(pattern) >= 0)) return;
  const schema = schemaOfKind(info, definitions());
  if (schema === undefined) return;
  for (const pattern of REFUSALS)
    error.message = error.message.replace(pattern, (refusal, path: string) => {
      const meant = nearestField(schema, path);
      return meant === undefined ? refusal : `${refusal} (did you mean ${JSON.stringify(meant)}?)`;
    });
}

function schemaOfKind(
  { group, version, kind }: ResourceInfo,
  definitions: readonly CustomResourceDefinition[],
): TypeSchema | undefined {
  const builtIn = schemaOf(group, version, kind);
  if (builtIn !== undefined) return builtIn;
  const definition = definitions.find(({ spec }) => spec.group === group && spec.names.kind === kind);
  const served = definition?.spec.versions.find(({ name }) => name === version);
  return served && structuralSchema(served.schema?.openAPIV3Schema, { group, version, kind });
}

/** The field nearest to the last name of a path such as `spec.containers[0].imge`. */
function nearestField(root: TypeSchema, path: string): string | undefined {
  const names = path.replaceAll(/\[[^\]]*\]/g, '').split('.');
  const misspelt = names.pop() ?? '';
  let place: TypeSchema | undefined = itself(root);
  for (const name of names) place = itself(fieldOf(place, name));
  return place?.kind === 'struct' ? nearestName(misspelt, place.fields.keys()) : undefined;
}

function fieldOf(place: TypeSchema | undefined, name: string): TypeSchema | undefined {
  if (place?.kind === 'map') return place.values;
  return place?.kind === 'struct' ? place.fields.get(name)?.type : undefined;
}

/** The type of a list's items, which paths address by an index; other types unchanged. */
function itself(type: TypeSchema | undefined): TypeSchema | undefined {
  return type?.kind === 'list' ? itself(type.items) : type;
}
