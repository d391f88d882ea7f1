/** The life of a project: installed, used, installed again, deleted. Each step must pass without an error or warning. */
import assert from 'node:assert/strict';
import { until } from '../integration/fixtures/until.ts';
import { listOf, type Manifest, type Project } from './manifest.ts';
import type { World } from './world-fixture.ts';

/** How a project is installed. */
export type Way = 'client-side' | 'server-side';

// Forced: an apply after one by the client conflicts over `fieldRef`, whose default version the configuration lacks, as upstream.
const FLAGS: Readonly<Record<Way, readonly string[]>> = {
  'client-side': [],
  'server-side': ['--server-side', '--force-conflicts'],
};

/**
 * A server-side apply keeps nulls, which the schemas of custom resources refuse, as upstream; a create drops them. What holds
 * nothing else goes too: an apply that empties an object makes it null.
 */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, inner]) => inner !== null && !holdsOnlyNulls(inner));
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutNulls(inner)]));
}

function holdsOnlyNulls(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const inner = Object.values(value);
  return inner.length > 0 && inner.every((each) => each === null || holdsOnlyNulls(each));
}

/** kubectl's warning of a job that has ended and is removed by its TTL between two installs. */
const BEING_DELETED = /^Warning: Detected changes to resource admission-\w+ which is currently being deleted\.$/;

/** Applies these objects; fails for any refusal, and for any warning but those that `warnings` matches. */
export async function apply(
  world: World,
  items: readonly Manifest[],
  { way, warnings }: { way: Way; warnings?: RegExp },
): Promise<void> {
  if (items.length === 0) return;
  const applied = way === 'server-side' ? (withoutNulls(items) as Manifest[]) : items;
  const { code, stderr } = await world.kubectl(['apply', ...FLAGS[way], '-f', '-'], listOf(applied));
  const isExpected = (line: string): boolean => BEING_DELETED.test(line) || warnings?.test(line) === true;
  const unexpected = stderr.split('\n').filter((line) => line !== '' && !isExpected(line));
  assert.deepEqual([code, unexpected], [0, []], `kubectl apply, ${way}: ${stderr}`);
}

/** Installs the definitions, waits until they are served, then the rest and the custom objects. */
export async function install(world: World, project: Project, way: Way): Promise<void> {
  const { definitions, objects, samples, warnings } = project;
  await apply(world, definitions, { way });
  if (definitions.length > 0)
    await must(world, ['wait', '--for=condition=Established', '--timeout=120s', '-f', '-'], listOf(definitions));
  await apply(world, objects, { way });
  await apply(world, samples, { way, ...(warnings && { warnings }) });
}

/**
 * Deletes custom objects, removing their finalizers as their controller would, the rest and the definitions; waits until all are
 * gone.
 */
export async function remove(world: World, { definitions, objects, samples, namespace }: Project): Promise<void> {
  await must(world, ['delete', '--wait=false', '-f', '-'], listOf(samples));
  for (const { kind, apiVersion, metadata } of samples.filter((sample) => 'finalizers' in sample.metadata)) {
    const [group = ''] = apiVersion.split('/');
    const where = metadata.namespace === undefined ? [] : ['-n', metadata.namespace];
    await must(world, [
      'patch',
      `${kind.toLowerCase()}s.${group}`,
      metadata.name,
      ...where,
      '--type=merge',
      '-p',
      '{"metadata":{"finalizers":null}}',
    ]);
  }
  await must(world, ['delete', '--timeout=120s', '--ignore-not-found', '-f', '-'], listOf(objects));
  if (definitions.length > 0) await must(world, ['delete', '--timeout=120s', '-f', '-'], listOf(definitions));
  await until(`nothing is left of ${namespace}`, async () => {
    const left = await must(world, ['get', 'namespace', namespace, '--ignore-not-found', '-o', 'name']);
    return left === '';
  });
  for (const { metadata } of definitions)
    assert.equal(await must(world, ['get', 'crd', metadata.name, '--ignore-not-found', '-o', 'name']), '');
}

/** Runs kubectl; fails for an error and for any warning. */
export async function must(world: World, args: readonly string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await world.kubectl(args, input);
  assert.deepEqual([code, stderr], [0, ''], `kubectl ${args.join(' ')}`);
  return stdout;
}
