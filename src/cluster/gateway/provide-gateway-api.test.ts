/** When a server that serves routes writes the file of the Gateway API's kinds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { provideGatewayApi } from './provide-gateway-api.ts';

const FOLDER = '/d/manifests';
const OWN = 'kind: CustomResourceDefinition\nmetadata: {name: gateways.gateway.networking.k8s.io}\n';

for (const [what, files, isDefined, written] of [
  ['an empty folder', {}, false, true],
  ['other manifests', { 'app.yaml': 'kind: Gateway\n' }, false, true],
  ['its file', { 'gateway-api.json': '{}' }, false, false],
  ['its file disabled', { 'gateway-api.json.skip': '' }, false, false],
  ['a file of the user that defines the kinds', { 'own.yaml': OWN }, false, false],
  ['kinds that the cluster has', {}, true, false],
] as const)
  test(`with ${what} the file is ${written ? '' : 'not '}written`, async () => {
    const platform = createSimPlatform();
    await platform.files.makeDir(FOLDER);
    for (const [name, text] of Object.entries(files)) await platform.files.writeFileAtomic(`${FOLDER}/${name}`, text);
    const objects = { get: () => (isDefined ? {} : undefined) } as unknown as Pick<ObjectStore, 'get'>;
    assert.equal(await provideGatewayApi(platform, objects, FOLDER), written);
    if (written) assert.match(await platform.files.readText(`${FOLDER}/gateway-api.json`), /gatewayclasses/);
  });
