/** The authority that a joining machine trusts. Tests read it from the options of the sockets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthority } from '../../component-helpers/pki/certificates.ts';
import { readCertificate } from '../../component-helpers/pki/read-certificate.ts';
import type { HttpResponse } from '../../platform/http.ts';
import type { TlsOptions } from '../../platform/net.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { clusterInfoYaml } from '../kubeconfig.ts';
import { discoverCluster } from './discover-cluster.ts';

const settings = { clusterCidr: '10.42.0.0/16', serviceCidr: '10.43.0.0/16', clusterDomain: 'cluster.local' };

const answer = (data: Readonly<Record<string, string>>): HttpResponse => ({
  kind: 'bytes',
  status: 200,
  headers: { 'content-type': 'application/json' },
  chunks: [Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data }))],
});

/** A machine whose token pins the first authority; the server publishes these texts, one after the other. */
async function joining(publish: (genuine: string, foreign: string) => readonly string[], more = {}) {
  const platform = createSimPlatform();
  const { clock, crypto, random, net, log } = platform;
  const authority = (name: string) =>
    clock.drive(createAuthority({ crypto, random, nowMs: () => clock.nowMs() }, name, 3_600_000));
  const [genuine, foreign] = [(await authority('genuine')).certPem, (await authority('foreign')).certPem];
  const texts = [...publish(genuine, foreign)];
  const host = createSimPlatform({ beside: platform, addresses: ['10.0.0.2'] });
  await host.listenHttp({ host: '0.0.0.0', port: 6443 }, ({ path }) => {
    if (!path.includes('cluster-info')) return answer({ ...settings, ...more });
    const caPem = texts.length > 1 ? texts.shift()! : texts[0]!;
    return answer({ kubeconfig: clusterInfoYaml({ server: 'https://10.0.0.2:6443', caPem }) });
  });
  const verified: (string | undefined)[] = [];
  const noted = (tls?: TlsOptions) => verified.push(tls?.insecureSkipVerify === true ? 'nothing' : tls?.caPem);
  const deps = { clock, crypto, log, net: { ...net, http: (call) => (noted(call.tls), net.http(call)) } as typeof net };
  const token = {
    bootstrapToken: 'abcdef.0123456789abcdef',
    caHashes: [readCertificate(platform, genuine).publicKeyHash],
  };
  const found = await clock.drive(
    discoverCluster(deps, ['https://10.0.0.2:6443'], token, new AbortController().signal).catch(
      (error: Error) => error,
    ),
  );
  return { found, verified, genuine, foreign };
}

const caOf = (found: Awaited<ReturnType<typeof joining>>['found']) =>
  found instanceof Error ? found.message : found.caPem;

test('the one authority that is pinned is trusted', async () => {
  const { found, verified, genuine } = await joining((genuine) => [genuine]);
  assert.equal(caOf(found), genuine);
  assert.deepEqual(verified, ['nothing', genuine]);
});

for (const [order, bundle] of [
  ['behind', (genuine: string, foreign: string) => genuine + foreign],
  ['before', (genuine: string, foreign: string) => foreign + genuine],
] as const)
  test(`an authority ${order} the pinned one is trusted once a server with a certificate of the pinned one publishes it`, async () => {
    const { found, verified, genuine, foreign } = await joining((...both) => [bundle(...both)]);
    const whole = bundle(genuine, foreign);
    assert.equal(caOf(found), whole);
    assert.deepEqual(verified, ['nothing', genuine, whole]);
  });

test('an authority that is in a block of another kind is not trusted unseen', async () => {
  const aliased = (foreign: string) => foreign.replaceAll(' CERTIFICATE', ' X509 CERTIFICATE');
  const { verified, genuine } = await joining((genuine, foreign) => [genuine + aliased(foreign)]);
  assert.deepEqual(verified.slice(0, 2), ['nothing', genuine]);
});

for (const [what, publish, message] of [
  ['a foreign authority', (_: string, foreign: string) => [foreign], /not the one the token was made for/],
  ['no certificate', () => ['nothing'], /not the one the token was made for/],
  [
    'another text once the connection is verified',
    (genuine: string, foreign: string) => [genuine + foreign, genuine],
    /over the verified connection is not what/,
  ],
] as const)
  test(`${what} is refused`, async () => {
    const { found } = await joining(publish);
    assert.match(caOf(found), message);
  });

test('an aborted join waits for no server', async () => {
  const { clock, crypto, log, net } = createSimPlatform();
  const stopping = new AbortController();
  const token = { bootstrapToken: 'abcdef.0123456789abcdef', caHashes: [] };
  const found = discoverCluster({ clock, crypto, log, net }, ['https://10.0.0.2:6443'], token, stopping.signal);
  clock.setTimer(10_500, () => stopping.abort(new Error('keelson is stopping')));
  await assert.rejects(clock.drive(found), /keelson is stopping/);
  assert.ok(clock.monotonicMs() < 11_000);
});

test('what connects nodes is the cluster’s choice; one that this version does not know is refused', async () => {
  const backendWith = async (more: object): Promise<string> => {
    const { found } = await joining((genuine) => [genuine], more);
    return found instanceof Error ? found.message : found.flannelBackend;
  };
  assert.equal(await backendWith({}), 'vxlan');
  assert.equal(await backendWith({ flannelBackend: 'wireguard-native' }), 'wireguard-native');
  assert.match(await backendWith({ flannelBackend: 'ipsec' }), /--flannel-backend ipsec is unknown to this version/);
});
