/**
 * Compares strategic merge patches, merge patches and JSON patches with upstream's libraries, on random objects and patches.
 * oracle.go and fields.go call the libraries; they are built with Go and Debian's golang-k8s-client-go-dev and
 * golang-github-evanphx-json-patch-dev (GO111MODULE=off, GOPATH=/usr/share/gocode).
 *
 *     node --conditions=keelson-source tools/upstream-patches/main.ts ORACLE [--type strategic] [--seed 1] [--count 10000]
 *     [--show 10]
 * ORACLE is the program with its arguments, in one word or several before the first flag. Exits with 1 when results differ.
 */
import { parseArgs } from 'node:util';
import { canonicalize } from '../../src/api/codec/canonical.ts';
import { parseJson, stringifyJson } from '../../src/api/codec/json.ts';
import type { JsonObject } from '../../src/api/codec/own-property.ts';
import { decodeTyped } from '../../src/api/codec/typed.ts';
import { asRead, asWritten } from '../../src/api/codec/written-form.ts';
import { allResources } from '../../src/api/gen/resources.ts';
import { apiVersionOf } from '../../src/api/resource-info.ts';
import { schemaOf } from '../../src/api/schema/schema.ts';
import type { StructSchema } from '../../src/api/schema/type-schema.ts';
import { patched } from '../../src/apiserver/endpoints/patch-bodies.ts';
import { deepEqual } from '../../src/base/equal.ts';
import { Generator, scrambledDraw } from './generate.ts';
import { operationsOf } from './operations.ts';
import { startOracle } from './oracle.ts';
import { smaller } from './smaller.ts';

type PatchType = 'strategic' | 'merge' | 'json';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    type: { type: 'string', default: 'strategic' },
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '10000' },
    show: { type: 'string', default: '10' },
    kind: { type: 'string', default: '' },
  },
});
const type = flags.type as PatchType;
const kinds = allResources
  .filter(({ kind, verbs }) => verbs.includes('patch') && kind.includes(flags.kind))
  .flatMap((info) => schemaOf(info.group, info.version, info.kind) ?? []);

interface Question {
  readonly type: PatchType;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly original: unknown;
  readonly patch: unknown;
}

interface Answer {
  readonly object?: JsonObject;
  readonly error?: string;
}

const oracle = startOracle<Answer>(positionals);
const theirs = (question: Question): Promise<Answer> => oracle.ask(question);

function ours({ type: patchType, group, version, kind, original, patch }: Question): Answer {
  const schema = schemaOf(group, version, kind)!;
  try {
    const result = patched(canonicalize(schema, original), { type: patchType, value: patch }, schema);
    return { object: decodeTyped(schema, result, { mode: 'Ignore' }).object };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

/** Results without meaning: upstream's panics, and kinds that its client library lacks. */
const NO_VERDICT = /^panic: |^no kind /u;

/** Whether the objects are equal in the form in which they are stored, where an empty list is absent. */
function isSame(a: Answer, b: Answer, schema: StructSchema): boolean {
  if (NO_VERDICT.test(a.error ?? '')) return true;
  if (a.object === undefined || b.object === undefined) return (a.object === undefined) === (b.object === undefined);
  const stored = (object: JsonObject): JsonObject => {
    const [, , kind] = schema.gvk!;
    return canonicalize(schema, asRead({ ...object, apiVersion: apiVersionOf(infoOf(schema)), kind }));
  };
  return deepEqual(stored(a.object), stored(b.object));
}

function infoOf({ gvk }: StructSchema): { readonly group: string; readonly version: string } {
  const [group, version] = gvk!;
  return { group, version };
}

function questionAt(index: number): Question {
  const generator = new Generator(scrambledDraw(Number(flags.seed), index));
  const schema = generator.pick(kinds);
  const [group, version, kind] = schema.gvk!;
  const apiVersion = apiVersionOf({ group, version });
  const random = { ...generator.struct(schema), apiVersion, kind };
  const original = asWritten(canonicalize(schema, random));
  const patch =
    type === 'json' ? operationsOf(generator, original) : generator.patch(schema, original, type === 'strategic');
  return { type, group, version, kind, original, patch: parseJson(stringifyJson(patch)).value };
}

async function differs(question: Question): Promise<boolean> {
  const { group, version, kind } = question;
  return !isSame(await theirs(question), ours(question), schemaOf(group, version, kind)!);
}

const KEPT = ['apiVersion', 'kind'];

async function shrunk(question: Question): Promise<Question> {
  for (const part of ['patch', 'original'] as const)
    for (const less of smaller(question[part], KEPT)) {
      const next = { ...question, [part]: less };
      if (await differs(next)) return await shrunk(next);
    }
  return question;
}

let different = 0;
let refused = 0;
for (let index = 0; index < Number(flags.count); index++) {
  const question = questionAt(index);
  const [a, b] = [await theirs(question), ours(question)];
  if (a.error !== undefined && b.error !== undefined) refused++;
  if (isSame(a, b, schemaOf(question.group, question.version, question.kind)!)) continue;
  if (different++ >= Number(flags.show)) continue;
  const least = await shrunk(question);
  const { group, version, kind, original, patch } = least;
  process.stdout.write(`${index} ${apiVersionOf({ group, version })} ${kind}\n`);
  process.stdout.write(`  original ${stringifyJson(original)}\n  patch    ${stringifyJson(patch)}\n`);
  process.stdout.write(`  upstream ${stringifyJson(await theirs(least))}\n  ours     ${stringifyJson(ours(least))}\n`);
}
process.stdout.write(`${flags.count} ${type} patches, ${refused} refused by both, ${different} answered differently\n`);
oracle.end();
process.exitCode = different > 0 ? 1 : 0;
