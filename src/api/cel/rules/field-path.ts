/** `fieldPath` of a rule: a simple JSON path below the place of the rule. Upstream: apiextensions' ValidFieldPath. */
import type { JSONSchemaProps } from '../../gen/apiextensions-v1.ts';
import type { Field } from '../../field-error.ts';

/** One step: a property, or an entry of a map. */
interface PathStep {
  readonly name: string;
  readonly isProperty: boolean;
}

/** The steps of a path, or why it is not valid for the schema. */
export function fieldPathSteps(path: string, schema: JSONSchemaProps): readonly PathStep[] | string {
  if (path === '') return 'must not be empty';
  const steps: PathStep[] = [];
  let rest = path;
  let at: JSONSchemaProps | undefined = schema;
  while (rest !== '') {
    const match: RegExpExecArray | null = /^(?:\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\])/.exec(rest);
    if (match === null)
      return rest.startsWith('[') ? 'expected single quoted string' : `expected [ or . but got: ${rest[0]}`;
    const name: string = match[1] ?? (match[2] ?? '').replaceAll(/\\(.)/g, '$1');
    const step: { readonly step: PathStep; readonly schema: JSONSchemaProps | undefined } | undefined = enter(at, name);
    if (step === undefined) return 'does not refer to a valid field';
    steps.push(step.step);
    at = step.schema;
    rest = rest.slice(match[0].length);
  }
  return steps;
}

function enter(
  schema: JSONSchemaProps | undefined,
  name: string,
): { readonly step: PathStep; readonly schema: JSONSchemaProps | undefined } | undefined {
  const property = schema?.properties?.[name];
  if (property !== undefined) return { step: { name, isProperty: true }, schema: property };
  const values = schema?.additionalProperties;
  if (values === undefined || values === false) return undefined;
  return { step: { name, isProperty: false }, schema: values === true ? undefined : values };
}

/** The place a path leads to. */
export function placeOf(field: Field, steps: readonly PathStep[]): Field {
  let place = field;
  for (const { name, isProperty } of steps) place = isProperty ? place.at(name) : place.key(name);
  return place;
}
