import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isServed, parseRuntimeConfig } from './runtime-config.ts';
import { testDefinitions } from './server-fixture.ts';

const definitions = testDefinitions();

/** Which of ConfigMaps and Deployments are served. */
function served(text: string): string[] {
  const config = parseRuntimeConfig(text, definitions);
  const names = definitions.filter((one) => isServed(config, one)).map(({ info }) => info.resource);
  return ['configmaps', 'deployments'].filter((name) => names.includes(name));
}

for (const [text, names] of [
  ['', ['configmaps', 'deployments']],
  ['v1=false', ['deployments']],
  ['/v1=false', ['deployments']],
  ['api/v1=false', ['deployments']],
  ['api/all=false,apps/v1', ['deployments']],
  ['api/ga=false,v1/configmaps=true', ['configmaps']],
  ['apps/v1/deployments=false', ['configmaps']],
  ['apps/v1beta9=false', ['configmaps', 'deployments']],
] as const)
  test(`"${text}" serves ${names.join(' and ')}`, () => assert.deepEqual(served(text), names));

for (const [text, says] of [
  ['v1=yes', 'runtime-config: invalid value of v1: "yes" (true or false)'],
  ['beta', 'runtime-config: invalid key beta'],
  ['a/b/c/d', 'runtime-config: invalid key a/b/c/d'],
  ['apps.k8s.io/v1', 'runtime-config: unknown api groups apps.k8s.io'],
  ['apps.k8s.io/v1=false', 'runtime-config: unknown api groups apps.k8s.io'],
  ['apps/v9', 'runtime-config: there is no apps/v9 to serve'],
  ['apps/v1/deployment=true', 'runtime-config: there is no apps/v1/deployment to serve'],
] as const)
  test(`"${text}" is refused`, () => assert.throws(() => served(text), { message: says }));
