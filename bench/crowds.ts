// Crowds against a real process: many requests at the same instant, each within every limit, while another client reads.
//
//   node --conditions=keelson-source bench/crowds.ts [--only TEXT]
// Prints, for each attack, the longest halt of the server's main thread in processor time, the longest wait of the other client,
// the maximum resident memory, and the responses to the attackers.
import { readFileSync, rmSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { type Attack, type Crowd, gets, hellos, pipelines, posts } from './hostile/crowds.ts';
import { kubeconfigOf } from './hostile/kubeconfig.ts';
import { connect } from './hostile/target.ts';
import { createBenchInstance } from './run/instance.ts';

const { values: options } = parseArgs({ options: { only: { type: 'string', default: '' } } });

const protobuf = { accept: 'application/vnd.kubernetes.protobuf' };
/** HPACK compresses each to a byte, except on the first request of a connection. */
const largeHead = Object.fromEntries(Array.from({ length: 15 }, (_, at) => [`x-${at}`, 'v'.repeat(2000)]));
const MAPS = '/api/v1/namespaces/tenant/configmaps';
const SECRETS = '/api/v1/namespaces/heavy/secrets';

function reviewOf(bytes: number): Buffer {
  const extra: Record<string, string[]> = {
    a: Array.from({ length: bytes / 37 }, (_, at) => `value ${at}`.padEnd(34, '-')),
  };
  const spec = { nonResourceAttributes: { path: '/', verb: 'get' }, extra };
  return Buffer.from(JSON.stringify({ apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec }));
}

const attacks: Readonly<Record<string, { readonly anonymous?: boolean; readonly run: Attack }>> = {
  '250 lists, indented': { run: gets(10, 250, (at) => `${MAPS}?pretty=true&labelSelector=x!%3D${at}`) },
  '250 lists, protobuf': { run: gets(10, 250, (at) => `${MAPS}?labelSelector=x!%3D${at}`, protobuf) },
  '240 bodies of 2.9 MB': {
    run: posts(240, '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', reviewOf(2_900_000)),
  },
  '100 large objects, indented': { run: gets(2, 100, () => `${MAPS}/big?pretty=true`) },
  '100 large objects, protobuf': { run: gets(2, 100, () => `${MAPS}/big`, protobuf) },
  '3000 first messages of TLS': { anonymous: true, run: hellos(3000) },
  '5000 requests without credentials': { anonymous: true, run: gets(20, 5000, () => '/api/v1/pods') },
  '300 pipelines of 900 requests': { anonymous: true, run: pipelines(300, 900) },
  '25,000 streams with heads of 30 KB': { anonymous: true, run: gets(100, 25_000, () => '/livez', largeHead) },
  '240 lists of 26 MB, indented': { run: gets(8, 240, (at) => `${SECRETS}?pretty=true&labelSelector=x!%3D${at}`) },
};

/** Creates namespaces, objects and an account that may read them. Resolves to its token. */
async function prepare(post: (path: string, body: object) => Promise<unknown>): Promise<string> {
  for (const name of ['tenant', 'heavy']) {
    await post('/api/v1/namespaces', { metadata: { name } });
    await post(`/apis/rbac.authorization.k8s.io/v1/namespaces/${name}/rolebindings`, {
      metadata: { name: 'admins' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
      subjects: [{ kind: 'ServiceAccount', name: 'attacker', namespace: 'tenant' }],
    });
  }
  await post('/api/v1/namespaces/tenant/serviceaccounts', { metadata: { name: 'attacker' } });
  const keys = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`key-${at}`, `value ${at}`]));
  for (let at = 0; at < 40; at++) await post(MAPS, { metadata: { name: `c${at}` }, data: keys(3000) });
  await post(MAPS, { metadata: { name: 'big' }, data: keys(20_000) });
  const value = Buffer.alloc(7000, 'secret').toString('base64');
  const data = Object.fromEntries(Array.from({ length: 90 }, (_, at) => [`k${at}`, value]));
  for (let at = 0; at < 30; at++) await post(SECRETS, { metadata: { name: `s${at}` }, data });
  const answer = (await post('/api/v1/namespaces/tenant/serviceaccounts/attacker/token', { spec: {} })) as {
    status: { token: string };
  };
  return answer.status.token;
}

function residentMiB(pid: number): number {
  const [, kibibytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) / 1024;
}

async function main(): Promise<void> {
  const meter = new URL('hostile/halt-meter.ts', import.meta.url).href;
  const instance = await createBenchInstance(['--simulate', '--nodes', '1'], ['--import', meter]);
  const haltsFile = `${instance.dataDir}.halts`;
  process.env['KEELSON_HALTS_FILE'] = haltsFile;
  try {
    await instance.start();
    const target = connect(instance.kubeconfig, haltsFile);
    const { ca } = kubeconfigOf(readFileSync(instance.kubeconfig, 'utf8')).tls;
    const token = await prepare(async (path, body) => {
      const answer = await instance.client().send(path, { method: 'POST', body });
      if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer)}`);
      return answer.body;
    });
    console.log('halt ms, wait ms, MiB, took ms, attack, answers');
    for (const [name, { anonymous = false, run }] of Object.entries(attacks)) {
      if (!name.includes(options.only)) continue;
      const crowd: Crowd = { server: new URL(instance.server), ca, ...(anonymous ? {} : { token }) };
      let mostMiB = 0;
      const timer = setInterval(() => (mostMiB = Math.max(mostMiB, residentMiB(instance.pid()))), 100);
      const { haltMs, waitMs, tookMs, status } = await target.during(
        async () => JSON.stringify(await run(crowd)),
        2000,
      );
      clearInterval(timer);
      console.log(
        [haltMs, waitMs, mostMiB, tookMs].map((value) => value.toFixed(0).padStart(7)).join(' '),
        name,
        status,
      );
    }
    target.close();
  } finally {
    await instance.remove();
    rmSync(haltsFile, { force: true });
  }
}

await main();
