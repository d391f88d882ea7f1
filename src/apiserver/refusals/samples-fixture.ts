/** Valid objects of the built-in kinds, and the changes to them: samples.yaml, parsed. */
import { readFileSync } from 'node:fs';
import { parseYamlDocuments } from '../../api/codec/yaml.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { schemaOf } from '../../api/schema/schema.ts';
import { type Change, ofType } from './changes-fixture.ts';

/** The request to the server: `status` is an update of the sub-resource. */
export type Verb = 'create' | 'update' | 'status';

/** A sound object. */
export interface Sample {
  /** apiVersion, kind and a word if there are several. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly object: KubernetesObject;
  readonly status?: object;
  readonly also: readonly Change[];
}

interface SampleText {
  readonly sample: string;
  readonly object: KubernetesObject;
  readonly status?: object;
  readonly also?: readonly (readonly [string, unknown?])[];
}

/** A place as text: steps parted by dots, each number an index. */
function parsePath(text: string): (string | number)[] {
  return text.split('.').map((step) => (/^\d+$/u.test(step) ? Number(step) : step));
}

function readSample(text: SampleText): Sample {
  const [apiVersion = '', kind = ''] = text.sample.split(' ');
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  const also = (text.also ?? []).map(([path, value]) => ({ path: parsePath(path), value: value ?? undefined }));
  const { sample: name, object, status } = text;
  return { name, group, version, kind, object: { apiVersion, kind, ...object }, also, ...(status && { status }) };
}

/** All samples. */
export function readSamples(): readonly Sample[] {
  const text = readFileSync(new URL('samples.yaml', import.meta.url), 'utf8');
  return parseYamlDocuments(text).map(({ value }) => readSample(value as unknown as SampleText));
}

const badNames = ['', 'Bad_Value!', 'a.b', 'a'.repeat(64), 'a'.repeat(254)];

/** The object with its status, as changes are made to it. */
export function whole({ object, status }: Sample): object {
  return { ...object, ...(status && { status }) };
}

/** Every change that a request of this verb can carry. */
export function changesOf(sample: Sample, verb: Verb): readonly Change[] {
  const schema = schemaOf(sample.group, sample.version, sample.kind);
  if (schema === undefined) throw new Error(`no schema for ${sample.name}`);
  const names = verb === 'create' ? badNames.map((value) => ({ path: ['metadata', 'name'], value })) : [];
  const suggested = [...ofType(schema, whole(sample), []), ...sample.also, ...names];
  return suggested.filter(({ path: [first = ''] }) =>
    verb === 'status' ? first === 'status' : !['status', 'apiVersion', 'kind'].includes(String(first)),
  );
}
