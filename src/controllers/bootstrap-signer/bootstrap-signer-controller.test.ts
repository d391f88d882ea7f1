import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { it } from 'node:test';
import { ConfigMaps, Secrets } from '../../api/gen/resources.ts';
import { formatTime } from '../../api/time.ts';
import { createBootstrapSignerController } from './bootstrap-signer-controller.ts';
import { startServerHarness, type ServerHarness } from '../server-harness-fixture.ts';

const token = (id: string, more: Record<string, string> = {}): object => ({
  metadata: { namespace: 'kube-system', name: `bootstrap-token-${id}` },
  type: 'bootstrap.kubernetes.io/token',
  stringData: { 'token-id': id, 'token-secret': '0123456789abcdef', 'usage-bootstrap-signing': 'true', ...more },
});
const signatures = async (h: ServerHarness): Promise<Record<string, string>> => {
  const { kubeconfig: _, ...rest } = (await h.get(ConfigMaps, 'kube-public/cluster-info')).data ?? {};
  return rest;
};

it('cluster-info is signed with the tokens made for it, and again when either changes', async () => {
  const h = await startServerHarness([createBootstrapSignerController]);
  const expiration = (ms: number): Record<string, string> => ({ expiration: formatTime(h.clock.nowMs() + ms) });
  await h.create(Secrets, token('abcdef'));
  await h.create(Secrets, token('nosign', { 'usage-bootstrap-signing': 'false' }));
  await h.create(Secrets, token('expird', expiration(-1000)));
  await h.create(ConfigMaps, {
    metadata: { namespace: 'kube-public', name: 'cluster-info' },
    data: { kubeconfig: 'the config', 'jws-kubeconfig-oldone': 'x' },
  });
  await h.clock.advance(1000);
  const found = await signatures(h);
  assert.deepEqual(Object.keys(found), ['jws-kubeconfig-abcdef']);
  const [header = '', content, signature] = (found['jws-kubeconfig-abcdef'] ?? '').split('.');
  assert.deepEqual(JSON.parse(Buffer.from(header, 'base64url').toString()), { alg: 'HS256', kid: 'abcdef' });
  assert.equal(content, '');
  const signed = `${header}.${Buffer.from('the config').toString('base64url')}`;
  assert.equal(signature, createHmac('sha256', '0123456789abcdef').update(signed).digest('base64url'));
  await h.update(ConfigMaps, 'kube-public/cluster-info', (draft) => void (draft.data!['kubeconfig'] = 'another'));
  await h.clock.advance(1000);
  assert.notEqual((await signatures(h))['jws-kubeconfig-abcdef'], found['jws-kubeconfig-abcdef']);
  await h.remove(Secrets, 'kube-system/bootstrap-token-abcdef');
  await h.clock.advance(1000);
  assert.deepEqual(await signatures(h), {});
  await h.stop();
});
