/**
 * Generates the page and the JSON schemas of scenario files from the shapes that parse them (src/testing/scenario*.ts). `node
 * tools/scenario-reference.ts` writes docs/scenario-steps.md, docs/scenario.schema.json and docs/images.schema.json.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileSchemas } from '../src/testing/scenario.ts';
import type { Schema } from '../src/testing/scenario-shape.ts';
import { isMain, repositoryRoot } from './repository.ts';

/** The path of a file with its text. */
export interface ReferenceFile {
  readonly path: string;
  readonly text: string;
}

export function referenceFiles(): ReferenceFile[] {
  const { scenario, images } = fileSchemas();
  const json = (schema: Schema): string => `${JSON.stringify(schema, undefined, 2)}\n`;
  return [
    { path: 'docs/scenario-steps.md', text: page(scenario) },
    { path: 'docs/scenario.schema.json', text: json(scenario) },
    { path: 'docs/images.schema.json', text: json(images) },
  ];
}

const INTRODUCTION = `# Scenario files

What [scenarios](testing.md#scenarios) of \`keelson sim\` consist of. \`node tools/scenario-reference.ts\` makes this page from the code that reads
them.

An editor with a YAML language server completes and checks them by the schema beside this page. In a project that has keelson
installed, the first line is \`# yaml-language-server: $schema=./node_modules/keelson/docs/scenario.schema.json\`; files for
\`keelson up --simulate --images\` have \`images.schema.json\`.

A span of time is a number of milliseconds or text such as \`1m30s\` or \`30d\`. Where a range may stand, \`1..20\` or \`1s..20s\`, a value is
drawn from the seed. Fields in bold are needed.
`;

function page(scenario: Schema): string {
  const { properties: top, required } = scenario as { properties: Record<string, Schema>; required: string[] };
  const { step } = scenario['$defs'] as { step: { properties: Record<string, Schema> } };
  const own = Object.fromEntries(Object.entries(top).filter(([name]) => name !== 'nodes' && name !== 'images'));
  const machine = (top['nodes']!['anyOf'] as readonly Schema[])[0]!['items'] as Schema;
  return [
    INTRODUCTION,
    '## The file\n',
    ...table(fieldRows({ properties: { ...own, nodes: top['nodes'], images: top['images'] }, required }, '', 0)),
    '\n## A machine\n',
    ...table(fieldRows(machine, '', 0)),
    '\n## An image\n',
    ...table(fieldRows(top['images']!['additionalProperties'] as Schema)),
    '\n## Steps',
    ...Object.entries(step.properties).flatMap(([name, schema]) => stepText(name, schema)),
    '',
  ].join('\n');
}

function stepText(name: string, schema: Schema): string[] {
  const head = [`\n### ${name}\n`, String(schema['description'])];
  // The fields of images have a separate table.
  if (name === 'image') return [...head, '\nTakes `name` and the fields of [an image](#an-image).'];
  if (name === 'addNode') return [...head, '\nTakes the fields of [a machine](#a-machine); **name** is needed.'];
  const object = alternatives(schema).find((one) => one['properties'] !== undefined);
  const plain = alternatives(schema).filter((one) => one !== object);
  const takes =
    plain.length === 0 ? [] : [`\nTakes ${plain.map(typeText).join(' or ')}${object === undefined ? '.' : ', or:'}`];
  return [...head, ...takes, ...(object === undefined ? [] : ['', ...table(fieldRows(object))])];
}

/** The members of an `anyOf` without a name. */
function alternatives(schema: Schema): readonly Schema[] {
  const choices = schema['anyOf'] as readonly Schema[] | undefined;
  return choices === undefined || schema['title'] !== undefined || schema['properties'] !== undefined
    ? [schema]
    : choices;
}

interface Row {
  readonly path: string;
  readonly needed: boolean;
  readonly type: string;
  readonly description: string;
}

/** The fields of an object, and those of nested objects to this depth. */
function fieldRows(schema: Schema, prefix = '', depth = 2): Row[] {
  const { properties, required = [] } = schema as { properties: Record<string, Schema>; required?: readonly string[] };
  return Object.entries(properties).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const row = {
      path,
      needed: required.includes(name),
      type: typeText(field),
      description: String(field['description'] ?? ''),
    };
    const inner = depth === 0 ? [] : objectsIn(field);
    return [row, ...inner.flatMap(([object, suffix]) => fieldRows(object, `${path}${suffix}.`, depth - 1))];
  });
}

/** The first objects with fields that a schema contains, and the path to them. */
function objectsIn(schema: Schema): (readonly [Schema, string])[] {
  const found = alternatives(schema).flatMap((one): (readonly [Schema, string])[] => {
    if (one['properties'] !== undefined) return [[one, '']];
    if (one['type'] === 'array') return objectsIn(one['items'] as Schema).map(([object]) => [object, '[]']);
    return [];
  });
  return found.slice(0, 1);
}

function typeText(schema: Schema): string {
  const { title, enum: words, type, additionalProperties: values } = schema;
  if (title !== undefined) return String(title);
  if (words !== undefined) return (words as string[]).map((one) => `\`${one}\``).join(', ');
  if (schema['$ref'] !== undefined) return 'step';
  if (type === 'array') return `list of ${typeText(schema['items'] as Schema)}`;
  if (type === 'object') return values === false ? 'fields' : `names to ${typeText(values as Schema)}`;
  return [...new Set(alternatives(schema).map(typeText))].join(' or ');
}

function table(rows: readonly Row[]): string[] {
  const cells = rows.map(({ path, needed, type, description }) => {
    const name = needed ? `**${path}**` : path;
    return `| ${[name, type, description].join(' | ')} |`.replaceAll('  ', ' ');
  });
  return ['| field | takes | |', '| --- | --- | --- |', ...cells];
}

if (isMain(import.meta.url))
  for (const { path, text } of referenceFiles()) writeFileSync(join(repositoryRoot, path), text);
