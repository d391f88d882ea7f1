import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseKubeconfig } from '../client/kubeconfig.ts';
import { kubeconfigJson, kubeconfigYaml } from './kubeconfig.ts';

test('a kubeconfig in JSON equals that in YAML', async () => {
  const named = { server: 'https://10.0.0.1:6443', caPem: 'CA', user: 'dns', cluster: 'k' };
  for (const credentials of [{ certPem: 'CERT', keyPem: 'KEY' }, { pairFile: '/pair.pem' }]) {
    const input = { ...named, ...credentials };
    assert.deepEqual(JSON.parse(kubeconfigJson(input)).kind, 'Config');
    const json = await parseKubeconfig(kubeconfigJson(input));
    assert.deepEqual(json, await parseKubeconfig(kubeconfigYaml(input)));
    assert.equal(json.server, named.server);
  }
});
