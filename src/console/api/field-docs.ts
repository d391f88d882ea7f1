/** Descriptions of a kind's fields, from the server's OpenAPI v3. */
import { sendJson } from './http.ts';
import type { Kind } from './kinds.ts';

/** The members of a schema that are read here. */
interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
}

type Schemas = Readonly<Record<string, Schema>>;

/** A field, or the object itself. */
export interface FieldDoc {
  /** Keys from the object down; `[]` is an item of a list. */
  readonly path: readonly string[];
  /** The type in kubectl's form: `string`, `[]Container`, `map[string]string`. */
  readonly type: string;
  readonly description: string;
  readonly values: readonly string[];
  /** The default value; '' when there is none. */
  readonly preset: string;
  readonly fields: readonly {
    readonly name: string;
    readonly type: string;
    readonly required: boolean;
    readonly description: string;
  }[];
}

/** Descriptions of one kind. */
export class FieldDocs {
  readonly #schemas: Schemas;
  readonly #root: Schema;

  constructor(schemas: Schemas, root: Schema) {
    this.#schemas = schemas;
    this.#root = root;
  }

  /** The field at a path, or its nearest known parent. */
  at(path: readonly string[]): FieldDoc {
    let schema = this.#whole(this.#root);
    const known: string[] = [];
    for (const key of path) {
      const next = this.#below(schema, key);
      if (next === undefined) break;
      schema = this.#whole(next);
      known.push(key);
    }
    const inner = schema.type === 'array' && schema.items !== undefined ? this.#whole(schema.items) : schema;
    const required = inner.required ?? [];
    return {
      path: known,
      type: this.#typeText(schema),
      description: schema.description ?? '',
      values: (schema.enum ?? []).map(String),
      preset: isPlain(schema.default) ? String(schema.default) : '',
      fields: Object.entries(inner.properties ?? {})
        .map(([name, field]) => {
          const whole = this.#whole(field);
          return {
            name,
            type: this.#typeText(whole),
            required: required.includes(name),
            description: whole.description ?? '',
          };
        })
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
    };
  }

  #below({ properties, items, additionalProperties }: Schema, key: string): Schema | undefined {
    if (key === '[]') return items;
    if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key];
    return typeof additionalProperties === 'object' ? additionalProperties : undefined;
  }

  /** The schema merged with the one that it refers to; its own description has precedence. */
  #whole(schema: Schema): Schema {
    const { $ref, allOf = [], ...own } = schema;
    const parts = [...allOf, ...($ref === undefined ? [] : [{ $ref }])];
    return parts.reduce<Schema>((whole, part) => ({ ...this.#target(part), ...whole }), own);
  }

  #target({ $ref, ...own }: Schema): Schema {
    return $ref === undefined ? own : { ...this.#schemas[nameOf($ref)], ...own };
  }

  #typeText(schema: Schema): string {
    const { type = 'Object', items, additionalProperties } = schema;
    if (type === 'array') return `[]${items === undefined ? 'Object' : this.#nameOrType(items)}`;
    if (type === 'object' && typeof additionalProperties === 'object')
      return `map[string]${this.#nameOrType(additionalProperties)}`;
    return type === 'object' ? 'Object' : type;
  }

  #nameOrType(schema: Schema): string {
    const ref = schema.$ref ?? schema.allOf?.find(({ $ref }) => $ref !== undefined)?.$ref;
    return ref === undefined ? this.#typeText(this.#whole(schema)) : (nameOf(ref).split('.').at(-1) ?? '');
  }
}

function nameOf(ref: string): string {
  return ref.replace('#/components/schemas/', '');
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

/** Undefined when the server does not describe the kind. Rejects with `ApiError`. */
export async function readFieldDocs({ group, version, kind }: Kind): Promise<FieldDocs | undefined> {
  const index = await sendJson<{ readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>> }>(
    '/openapi/v3',
  );
  const url = index.paths[group === '' ? `api/${version}` : `apis/${group}/${version}`]?.serverRelativeURL;
  if (url === undefined) return undefined;
  const { components } = await sendJson<{ readonly components?: { readonly schemas?: Schemas } }>(url);
  const schemas = components?.schemas ?? {};
  const root = Object.values(schemas).find((schema) =>
    schema['x-kubernetes-group-version-kind']?.some(
      (one) => one.group === group && one.version === version && one.kind === kind,
    ),
  );
  return root && new FieldDocs(schemas, root);
}
