// Validation of one version of a custom resource: schema, columns, subresources, selectable fields. Upstream:
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
import { checkRuleTexts } from '../cel/rules/check-rules.ts';
import { readFieldPath } from '../cel/rules/field-path.ts';
import { validateOpenApiSchema } from './open-api-schema.ts';
import { validateDefaults } from './schema-defaults.ts';
import { unsupportedBy, validateStructuralSchema } from './structural-schema.ts';

/** What the rules of expressions ask of a definition's schemas. Both are for structural schemas. */
export interface SchemaRules {
  /** Reports defaults that break rules. */
  checkDefaults(schema: JSONSchemaProps, field: Field): void;
  /** Reports rules that do not compile or cost too much. `faults`: field paths of what is wrong with the schema. */
  checkRules(schema: JSONSchemaProps, field: Field, faults: readonly string[]): void;
}

/** Parts of versions that upstream's internal type has once, above the versions, when all versions have the same. */
export type SharedPart = 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields';

const SHARED_PARTS = ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'] as const;

export function sharedParts([first, ...others]: readonly CustomResourceDefinitionVersion[]): ReadonlySet<SharedPart> {
  return new Set(SHARED_PARTS.filter((part) => others.every((other) => deepEqual(other[part], first?.[part]))));
}

/** How the parts of versions are checked. */
export interface PartChecks {
  /** False when the checks would take too long. */
  readonly fits: boolean;
  readonly shared: ReadonlySet<SharedPart>;
  readonly rules: SchemaRules;
  /** Whether any version has a status subresource. */
  readonly anyStatus: boolean;
  /** Whether defaults may not have fields that their schema does not know. */
  readonly knowsDefaults: boolean;
}

/** `placeOf`: the field of a part; undefined for a part that is checked elsewhere. */
export function validateParts(
  version: CustomResourceDefinitionVersion,
  placeOf: (part: SharedPart) => Field | undefined,
  { rules, shared, anyStatus, knowsDefaults }: PartChecks,
): void {
  const { schema, subresources, additionalPrinterColumns = [], selectableFields = [] } = version;
  const [schemaPlace, columns, selectable] = [
    placeOf('schema'),
    placeOf('additionalPrinterColumns'),
    placeOf('selectableFields'),
  ];
  if (schema?.openAPIV3Schema !== undefined && schemaPlace !== undefined) {
    const hasStatus = shared.has('schema') ? anyStatus : subresources?.status !== undefined;
    validateSchema(schema.openAPIV3Schema, schemaPlace.at('openAPIV3Schema'), { rules, hasStatus, knowsDefaults });
  }
  const resources = placeOf('subresources');
  if (subresources !== undefined && resources !== undefined) validateSubresources(subresources, resources);
  if (columns !== undefined)
    for (const [index, column] of additionalPrinterColumns.entries()) validateColumn(column, columns.item(index));
  if (selectable === undefined || selectableFields.length === 0) return;
  if (schema?.openAPIV3Schema === undefined)
    selectable.invalid('', 'may only be set when validations.schema is included');
  else validateSelectableFields(version, selectable);
}

/** The top-level fields in the order of upstream's text. */
const ROOT_FIELDS =
  'Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations';

const rootNames = new Set(
  ROOT_FIELDS.split(' ').map((name) => {
    if (name === 'XPreserveUnknownFields') return 'x-kubernetes-preserve-unknown-fields';
    return name === 'XValidations' ? 'x-kubernetes-validations' : name.charAt(0).toLowerCase() + name.slice(1);
  }),
);

/** Flags and texts, which count as absent when false or empty. All other fields are pointers. */
const PLAIN_FIELDS = new Set([
  'id',
  '$schema',
  'nullable',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
]);

/** Fields before the type in upstream's order. */
const EARLY_FIELDS = new Set(['id', '$schema', '$ref']);

/** Only the first field that is forbidden at the root beside a status is reported. */
function validateRoot(schema: JSONSchemaProps, field: Field): void {
  const foreign = Object.entries(schema)
    .filter(([name, value]) => !rootNames.has(name) && (PLAIN_FIELDS.has(name) ? Boolean(value) : value !== null))
    .map(([name]) => name);
  const { type = '' } = schema;
  if (type !== '' && type !== 'object' && !foreign.some((name) => EARLY_FIELDS.has(name)))
    return field
      .at('type')
      .invalid(
        type,
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
      );
  if (foreign.length > 0)
    field.invalid(
      schema,
      `only [${ROOT_FIELDS}] fields are allowed at the root of the schema if the status subresource is enabled`,
    );
}

interface SchemaChecks extends Pick<PartChecks, 'rules' | 'knowsDefaults'> {
  readonly hasStatus: boolean;
}

function validateSchema(schema: JSONSchemaProps, field: Field, checks: SchemaChecks): void {
  const { rules, hasStatus } = checks;
  const { errors } = field;
  const first = errors.length;
  if (hasStatus) validateRoot(schema, field);
  if (schema.nullable === true) field.at('nullable').forbidden('nullable cannot be true at the root');
  const unsupported = unsupportedBy(schema);
  const isStructural = unsupported === undefined && isSoundStructure(schema, field, checks);
  const before = errors.length;
  validateOpenApiSchema(schema, field, checkRuleTexts);
  const faults = errors.slice(before).map((error) => error.field);
  if (unsupported !== undefined && errors.length === first) field.invalid('', unsupported);
  if (isStructural) rules.checkRules(schema, field, faults);
}

/** Whether the schema is structural and its defaults fit it; reports the first that is not so. */
function isSoundStructure(schema: JSONSchemaProps, field: Field, { rules, knowsDefaults }: SchemaChecks): boolean {
  const { errors } = field;
  const before = errors.length;
  validateStructuralSchema(schema, field);
  if (errors.length === before) validateDefaults(schema, field, knowsDefaults);
  if (errors.length === before) rules.checkDefaults(schema, field);
  return errors.length === before;
}

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];

const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

function validateColumn({ name, type, format, jsonPath }: CustomResourceColumnDefinition, field: Field): void {
  if ((name ?? '') === '') field.at('name').required();
  if ((type ?? '') === '') field.at('type').required(`must be one of ${COLUMN_TYPES.join(',')}`);
  else if (!COLUMN_TYPES.includes(type)) field.at('type').invalid(type, `must be one of ${COLUMN_TYPES.join(',')}`);
  if ((format ?? '') !== '' && !COLUMN_FORMATS.includes(format!))
    field.at('format').invalid(format, `must be one of ${COLUMN_FORMATS.join(',')}`);
  // Upstream's path has the name of the Go field.
  const place = field.at('JSONPath');
  if ((jsonPath ?? '') === '') place.required();
  else if (!jsonPath.startsWith('.')) place.invalid(jsonPath, 'must be a simple json path starting with .');
}

function validateSubresources({ scale }: CustomResourceSubresources, field: Field): void {
  if (scale === undefined) return;
  const { specReplicasPath = '', statusReplicasPath = '', labelSelectorPath = '' } = scale;
  const check = (name: string, path: string, under: readonly string[]): void => {
    const place = field.at(`scale.${name}`);
    if (path === '') return place.required();
    if (!path.startsWith('.')) return place.invalid(path, 'must be a simple json path starting with .');
    const isPlain = plainFields(parseOrNothing(path)) !== undefined;
    if (!isPlain || !under.some((start) => path.startsWith(`${start}.`)))
      place.invalid(
        path,
        `should be a json path under ${under.length > 1 ? `either ${under.join(' or ')}` : under[0]!}`,
      );
  };
  check('specReplicasPath', specReplicasPath, ['.spec']);
  check('statusReplicasPath', statusReplicasPath, ['.status']);
  if (labelSelectorPath !== '') check('labelSelectorPath', labelSelectorPath, ['.spec', '.status']);
}

/** A path that cannot be parsed is replaced by one whose steps no plain path has. */
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
  const seen = new Set<string>();
  for (const [index, { jsonPath = '' }] of selectableFields.entries()) {
    const place = field.item(index).at('jsonPath');
    if (jsonPath === '') {
      place.required();
      continue;
    }
    const found = readFieldPath(jsonPath, schema!.openAPIV3Schema!, true);
    if (typeof found === 'string') {
      place.invalid(jsonPath, `is an invalid path: ${found}`);
      continue;
    }
    if (found.steps[0]?.name === 'metadata') place.invalid(jsonPath, 'must not point to fields in metadata');
    if (!['string', 'boolean', 'integer'].includes(found.schema?.type ?? ''))
      place.invalid(
        jsonPath,
        'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
      );
    if (seen.has(jsonPath)) place.duplicate(jsonPath);
    seen.add(jsonPath);
  }
  if (seen.size > MAX_SELECTABLE_FIELDS) field.tooMany(seen.size, MAX_SELECTABLE_FIELDS);
}
