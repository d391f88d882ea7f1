/**
 * The JSON schema of explanations, generated from the interfaces in src/why. `node tools/why-schema.ts` writes
 * docs/why.schema.json. It replaces a general library for schemas from types: the types here need only a few forms, and an
 * unknown form is an error.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { isMain, repositoryRoot } from './repository.ts';

const SOURCES = ['src/why/explanation.ts', 'src/why/trouble.ts'];
/** Complete responses; the types that they refer to are definitions beside them. */
const ANSWERS = ['Explanation', 'ExplanationList', 'Troubles'];
export const SCHEMA_FILE = 'docs/why.schema.json';

type Schema = Readonly<Record<string, unknown>>;

/** The schema as text. Throws for an unknown form of a type. */
export function whySchema(): string {
  const types = new Map(SOURCES.flatMap(declarationsOf).map((one) => [one.name.text, one]));
  const defs = new Map<string, Schema>();
  const define = (name: string): void => {
    const declaration = types.get(name);
    if (declaration === undefined) throw new Error(`${name} is not declared in ${SOURCES.join(' or ')}`);
    if (defs.has(name)) return;
    defs.set(name, {});
    defs.set(name, new Converter(types, define).declaration(declaration));
  };
  for (const name of ANSWERS) define(name);
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Answers of keelson why, keelson status and /keelson/v1/why',
    oneOf: ANSWERS.map(reference),
    $defs: Object.fromEntries(defs),
  };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

type Declaration = ts.InterfaceDeclaration | ts.TypeAliasDeclaration;

function declarationsOf(path: string): readonly Declaration[] {
  const text = readFileSync(join(repositoryRoot, path), 'utf8');
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  return file.statements.filter((one) => ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one));
}

function reference(name: string): Schema {
  return { $ref: `#/$defs/${name}` };
}

class Converter {
  readonly #types: ReadonlyMap<string, Declaration>;
  readonly #define: (name: string) => void;

  constructor(types: ReadonlyMap<string, Declaration>, define: (name: string) => void) {
    this.#types = types;
    this.#define = define;
  }

  declaration(declaration: Declaration): Schema {
    const description = descriptionOf(declaration);
    if (ts.isTypeAliasDeclaration(declaration)) return { ...description, ...this.#type(declaration.type) };
    const members = this.#membersOf(declaration);
    return {
      ...description,
      type: 'object',
      properties: Object.fromEntries(members.map((member) => [nameOf(member), this.#property(member)])),
      required: members.filter(({ questionToken }) => questionToken === undefined).map(nameOf),
    };
  }

  /** The members of the extended interface are the last. */
  #membersOf(declaration: ts.InterfaceDeclaration): readonly ts.PropertySignature[] {
    const own = declaration.members.filter(ts.isPropertySignature);
    const bases = (declaration.heritageClauses ?? []).flatMap(({ types }) => types.map((type) => type.getText()));
    const inherited = bases.flatMap((name) => {
      const base = this.#types.get(name);
      if (base === undefined || !ts.isInterfaceDeclaration(base)) throw new Error(`${name} is no interface known here`);
      return this.#membersOf(base);
    });
    return [...own, ...inherited];
  }

  #property(member: ts.PropertySignature): Schema {
    if (member.type === undefined) throw new Error(`${nameOf(member)} has no type`);
    return { ...descriptionOf(member), ...this.#type(member.type) };
  }

  #type(node: ts.TypeNode): Schema {
    if (ts.isTypeOperatorNode(node)) return this.#type(node.type);
    if (ts.isArrayTypeNode(node)) return { type: 'array', items: this.#type(node.elementType) };
    if (ts.isLiteralTypeNode(node) && ts.isStringLiteral(node.literal)) return { const: node.literal.text };
    if (ts.isUnionTypeNode(node)) return this.#union(node.types);
    if (ts.isTypeReferenceNode(node)) {
      const name = node.typeName.getText();
      this.#define(name);
      return reference(name);
    }
    if (node.kind === ts.SyntaxKind.StringKeyword) return { type: 'string' };
    if (node.kind === ts.SyntaxKind.NumberKeyword) return { type: 'integer', minimum: 0 };
    throw new Error(`a type of this form has no schema here: ${node.getText()}`);
  }

  /** In JSON, undefined fields are absent. */
  #union(types: readonly ts.TypeNode[]): Schema {
    const present = types.filter(({ kind }) => kind !== ts.SyntaxKind.UndefinedKeyword);
    if (present.length === 1) return this.#type(present[0]!);
    const values = present.map((one) => this.#type(one)['const']);
    if (values.includes(undefined)) throw new Error('a union of other than texts has no schema here');
    return { enum: values };
  }
}

function nameOf({ name }: ts.PropertySignature): string {
  return name.getText();
}

function descriptionOf(node: ts.Node): Schema {
  const [comment] = ts.getJSDocCommentsAndTags(node);
  const text = comment === undefined ? undefined : ts.getTextOfJSDocComment(comment.comment);
  return text === undefined ? {} : { description: text };
}

if (isMain(import.meta.url)) writeFileSync(join(repositoryRoot, SCHEMA_FILE), whySchema());
