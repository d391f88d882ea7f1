// The parts of one version of a custom resource: schema, columns, subresources, selectable fields. Upstream:
// apiextensions/validation (ValidateCustomResourceDefinitionVersion).
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinitionVersion,
  CustomResourceSubresources,
  JSONSchemaProps,
} from '../gen/apiextensions-v1.ts';
import { parseJsonPath, plainFields } from '../json-path.ts';
import { validateOpenApiSchema } from './open-api-schema.ts';
import { validateStructuralSchema } from './structural-schema.ts';

/** Rules a definition's schemas must keep beside those of this file. */
export type CheckSchemaRules = (schema: JSONSchemaProps, field: Field) => void;

/** Parts of versions that upstream has once, above the versions, where all versions have the same. */
export type SharedPart = 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields';

const SHARED_PARTS = ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'] as const;

export function sharedParts([first, ...others]: readonly CustomResourceDefinitionVersion[]): ReadonlySet<SharedPart> {
  return new Set(SHARED_PARTS.filter((part) => others.every((other) => deepEqual(other[part], first?.[part]))));
}

/** How the parts of versions are checked. */
export interface PartChecks {
  /** False: they would take too long. */
  readonly fits: boolean;
  readonly shared: ReadonlySet<SharedPart>;
  readonly rules: CheckSchemaRules;
}

/** `placeOf`: where a part stands; undefined for one that is checked elsewhere. */
export function validateParts(
  version: CustomResourceDefinitionVersion,
  placeOf: (part: SharedPart) => Field | undefined,
  { rules }: PartChecks,
): void {
  const { schema, subresources, additionalPrinterColumns = [], selectableFields = [] } = version;
  const [schemaPlace, columns, selectable] = [
    placeOf('schema'),
    placeOf('additionalPrinterColumns'),
    placeOf('selectableFields'),
  ];
  if (schema?.openAPIV3Schema !== undefined && schemaPlace !== undefined)
    validateSchema(version, schemaPlace.at('openAPIV3Schema'), rules);
  const resources = placeOf('subresources');
  if (subresources !== undefined && resources !== undefined) validateSubresources(subresources, resources);
  if (columns !== undefined)
    for (const [index, column] of additionalPrinterColumns.entries()) validateColumn(column, columns.item(index));
  if (selectable === undefined || selectableFields.length === 0) return;
  if (schema?.openAPIV3Schema === undefined)
    selectable.invalid('', 'may only be set when validations.schema is included');
  else validateSelectableFields(version, selectable);
}

/** As upstream's text names them. */
const ROOT_FIELDS =
  'Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations';

const rootNames = new Set(
  ROOT_FIELDS.split(' ').map((name) => {
    if (name === 'XPreserveUnknownFields') return 'x-kubernetes-preserve-unknown-fields';
    return name === 'XValidations' ? 'x-kubernetes-validations' : name.charAt(0).toLowerCase() + name.slice(1);
  }),
);

function validateRoot(schema: JSONSchemaProps, field: Field): void {
  if ((schema.type ?? '') !== '' && schema.type !== 'object')
    return field
      .at('type')
      .invalid(
        schema.type,
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
      );
  if (Object.entries(schema).some(([name, value]) => Boolean(value) && !rootNames.has(name)))
    field.invalid(
      schema,
      `only [${ROOT_FIELDS}] fields are allowed at the root of the schema if the status subresource is enabled`,
    );
}

function validateSchema(version: CustomResourceDefinitionVersion, field: Field, checkRules: CheckSchemaRules): void {
  const schema = version.schema!.openAPIV3Schema!;
  const before = field.errors.length;
  if (version.subresources?.status !== undefined) validateRoot(schema, field);
  if (schema.nullable === true) field.at('nullable').forbidden('nullable cannot be true at the root');
  validateStructuralSchema(schema, field);
  validateOpenApiSchema(schema, field);
  if (field.errors.length === before) checkRules(schema, field);
}

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];

const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

function validateColumn({ name, type, format, jsonPath }: CustomResourceColumnDefinition, field: Field): void {
  if ((name ?? '') === '') field.at('name').required();
  if ((type ?? '') === '') field.at('type').required(`must be one of ${COLUMN_TYPES.join(',')}`);
  else if (!COLUMN_TYPES.includes(type)) field.at('type').invalid(type, `must be one of ${COLUMN_TYPES.join(',')}`);
  if ((format ?? '') !== '' && !COLUMN_FORMATS.includes(format!))
    field.at('format').invalid(format, `must be one of ${COLUMN_FORMATS.join(',')}`);
  // Upstream calls it as its Go field.
  const place = field.at('JSONPath');
  if ((jsonPath ?? '') === '') place.required();
  else if (!jsonPath.startsWith('.')) place.invalid(jsonPath, 'must be a simple json path starting with .');
}

function validateSubresources({ scale }: CustomResourceSubresources, field: Field): void {
  if (scale === undefined) return;
  const check = (name: string, path: string | undefined, under: string): void => {
    const place = field.at(`scale.${name}`);
    if ((path ?? '') === '') return;
    if (!path!.startsWith('.')) place.invalid(path, 'must be a simple json path starting with .');
    else if (!path!.startsWith(`.${under}.`) || plainFields(parseOrNothing(path!)) === undefined)
      place.invalid(path, `should be a json path under .${under}`);
  };
  if ((scale.specReplicasPath ?? '') === '') field.at('scale.specReplicasPath').required();
  if ((scale.statusReplicasPath ?? '') === '') field.at('scale.statusReplicasPath').required();
  check('specReplicasPath', scale.specReplicasPath, 'spec');
  check('statusReplicasPath', scale.statusReplicasPath, 'status');
  const { labelSelectorPath } = scale;
  check('labelSelectorPath', labelSelectorPath, labelSelectorPath?.startsWith('.spec.') === true ? 'spec' : 'status');
}

/** A path that cannot be parsed has steps no plain path has. */
function parseOrNothing(path: string): ReturnType<typeof parseJsonPath> {
  try {
    return parseJsonPath(path);
  } catch {
    return { steps: [{ kind: 'every' }] };
  }
}

const MAX_SELECTABLE_FIELDS = 8;

function validateSelectableFields(version: CustomResourceDefinitionVersion, field: Field): void {
  const { selectableFields = [], schema } = version;
  if (selectableFields.length > MAX_SELECTABLE_FIELDS) field.tooMany(selectableFields.length, MAX_SELECTABLE_FIELDS);
  const seen = new Set<string>();
  for (const [index, { jsonPath = '' }] of selectableFields.entries()) {
    const place = field.item(index).at('jsonPath');
    if (jsonPath === '') place.required();
    else if (seen.has(jsonPath)) place.duplicate(jsonPath);
    else validateSelectableField(jsonPath, place, schema?.openAPIV3Schema);
    seen.add(jsonPath);
  }
}

function validateSelectableField(path: string, field: Field, schema: JSONSchemaProps | undefined): void {
  const names = path.startsWith('.') ? plainFields(parseOrNothing(path)) : undefined;
  if (names === undefined || names.length === 0)
    return field.invalid(path, 'is an invalid path: must be a simple json path of fields starting with .');
  if (names[0] === 'metadata') return field.invalid(path, 'must not point to fields in metadata');
  const found = names.reduce<JSONSchemaProps | undefined>(
    (at, name) => (Object.hasOwn(at?.properties ?? {}, name) ? at!.properties![name] : undefined),
    schema,
  );
  if (found === undefined) return field.invalid(path, 'is an invalid path: does not refer to a valid field');
  if (!['string', 'boolean', 'integer'].includes(found.type ?? ''))
    field.invalid(
      path,
      'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
    );
}
