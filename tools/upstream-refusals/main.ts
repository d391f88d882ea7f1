/**
 * Compares the refusals of two API servers: an upstream one of the version that Keelson follows, through `kubectl proxy`, and
 * Keelson's own, in this process. Every sample is changed in every place; each change is sent as a dry run of a create, an update
 * and a status update. Prints where the responses differ; `--write` writes those that agree to table.jsonl.
 *
 *     node --conditions=keelson-source tools/upstream-refusals/main.ts http://127.0.0.1:8001 [--only TEXT] [--write]
 * The upstream server runs without admission plugins and with --runtime-config=api/all=true.
 */
import { startWithAll } from '../../src/apiserver/all-resources-fixture.ts';
import { type Change, changed } from '../../src/apiserver/refusals/changes-fixture.ts';
import { changesOf, readSamples, type Sample, type Verb, whole } from '../../src/apiserver/refusals/samples-fixture.ts';
import { isWritable, type Row, writeTable } from '../../src/apiserver/refusals/table-fixture.ts';
import { Asker, type Answer, type Send } from '../../src/apiserver/refusals/asker-fixture.ts';

const [url = '', ...flags] = process.argv.slice(2);
const only = flags.includes('--only') ? (flags[flags.indexOf('--only') + 1] ?? '') : '';

const remote: Send = async (method, path, body) => {
  const answer = await fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: await answer.json() };
};

interface Compared {
  readonly sample: Sample;
  readonly verb: Verb;
  readonly change: Change;
  readonly theirs: Answer;
  readonly ours: Answer;
}

async function compareAll(
  sample: Sample,
  [theirs, ours]: readonly [Asker, Asker],
  compared: Compared[],
): Promise<void> {
  for (const verb of ['create', 'update', 'status'] as const) {
    if (verb === 'status' && sample.status === undefined) continue;
    await theirs.prepare(sample, verb);
    await ours.prepare(sample, verb);
    const changes = [{ path: ['metadata', 'labels'] }, ...changesOf(sample, verb)];
    const width = 8;
    for (let start = 0; start < changes.length; start += width) {
      await Promise.all(
        changes.slice(start, start + width).map(async (change) => {
          const object = changed(whole(sample), change);
          const [a, b] = await Promise.all([theirs.ask(sample, verb, object), ours.ask(sample, verb, object)]);
          compared.push({ sample, verb, change, theirs: a, ours: b });
        }),
      );
    }
    await theirs.remove(sample);
    await ours.remove(sample);
  }
}

const { send, storage } = await startWithAll([], 'api/all=true');
const infos = [...storage.registry.served].map(({ info }) => info);
const local: Send = async (method, path, body) => {
  const { status, body: answer } = await send(method, path, body, { 'content-type': 'application/json' });
  return { status, body: answer };
};
const compared: Compared[] = [];
for (const sample of readSamples().filter(({ name }) => name.includes(only))) {
  try {
    await compareAll(sample, [new Asker(remote, infos), new Asker(local, infos)], compared);
  } catch (error) {
    process.stdout.write(`${sample.name}: ${(error as Error).message}\n`);
  }
}

/** Longer rows are left out, because they add little to shorter ones. */
const LONGEST = 280;

let different = 0;
for (const { sample, verb, change, theirs, ours } of compared) {
  if (JSON.stringify(theirs) === JSON.stringify(ours)) continue;
  different++;
  const short = JSON.stringify(change.value)?.slice(0, 200);
  process.stdout.write(`${sample.name} ${verb} ${change.path.join('.')} = ${short}\n`);
  process.stdout.write(`  upstream ${JSON.stringify(theirs)}\n  ours     ${JSON.stringify(ours)}\n`);
}
/** The value that an error quotes. */
const SHOWN_VALUE = /(Invalid|Unsupported|Duplicate) value: .*?(?:: |$)/u;

/** Parts of many kinds that one function validates. */
const SHARED_PART =
  /(?:matchLabels|matchExpressions|matchConstraints|matchResources|tolerations|conditions|devices)\b.*/u;

/** A field of a kind; without the kind when one kind represents all. */
function placeOf(kind: string, field: string): string {
  const place = field.replaceAll(/\d+/gu, 'N');
  return SHARED_PART.exec(place)?.[0] ?? `${kind} ${place}`;
}

/** The rows of the table: each refusal that is new for a kind, without parts that differ between runs. */
function rowsOf(all: readonly Compared[]): Row[] {
  const seen = new Set<string>();
  return all.flatMap(({ sample, verb, change, theirs, ours }) => {
    const complaints = theirs.causes ?? [];
    if (theirs.code !== 422 || JSON.stringify(theirs) !== JSON.stringify(ours)) return [];
    const text = JSON.stringify([change.value ?? null, complaints]);
    if (text.length > LONGEST || /a{40}|UID|TIME/u.test(text) || !complaints.every(isWritable)) return [];
    const kind = sample.name.split(' ').slice(0, 2).join(' ');
    const news = complaints
      .map(([field, , said]) => `${placeOf(kind, field)} ${said.replace(SHOWN_VALUE, '$1')}`)
      .filter((complaint) => !seen.has(complaint));
    if (news.length === 0) return [];
    for (const complaint of news) seen.add(complaint);
    return [{ sample: sample.name, verb, change, complaints }];
  });
}

if (flags.includes('--write')) writeTable(rowsOf(compared));
process.stdout.write(`${compared.length} requests, ${different} answered differently\n`);
process.exit(0);
