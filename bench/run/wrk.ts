// GET and POST rates that wrk measures over TLS at 16 connections, with a token and RBAC; and those of a bare Node.js HTTPS
// server just before, for comparison between machines.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { findProgram } from '../../tools/host-files.ts';
import type { KubeClient } from '../../tools/up/kube-client.ts';
import { output } from './child-output.ts';
import type { BenchInstance } from './instance.ts';

/** Requests per second. */
export interface WrkRates {
  readonly bareGet: number;
  readonly get: number;
  readonly post: number;
}

const COLLECTION = '/api/v1/namespaces/default/configmaps';

// Unique names: the thread's number and a counter, and a prefix that differs between runs.
const POST_SCRIPT = `
local thread = 0
function setup(t) t:set("id", thread); thread = thread + 1 end
function init() n = 0; run = os.time() end
function request()
  n = n + 1
  local body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"w-' .. run .. '-' .. id .. '-' .. n
    .. '","labels":{"w":"1"}},"data":{"payload":"' .. string.rep("x", 1000) .. '"}}'
  return wrk.format("POST", "${COLLECTION}", { ["Content-Type"] = "application/json", ["Authorization"] = wrk.headers["Authorization"] }, body)
end
`;

/** Measures, or resolves to undefined without wrk (Debian package wrk). */
export async function wrkRates(instance: BenchInstance, seconds: number): Promise<WrkRates | undefined> {
  if (findProgram('wrk') === undefined) return undefined;
  const client = instance.client();
  const token = await benchToken(client);
  await must(client, COLLECTION, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'wrk' },
    data: { payload: 'x'.repeat(1000) },
  });
  const folder = mkdtempSync(join(tmpdir(), 'keelson-wrk-'));
  try {
    const script = join(folder, 'post.lua');
    writeFileSync(script, POST_SCRIPT);
    const bareGet = await bareRate(instance, seconds);
    const get = await wrk(seconds, ['-H', `Authorization: Bearer ${token}`, `${instance.server}${COLLECTION}/wrk`]);
    const post = await wrk(seconds, ['-s', script, '-H', `Authorization: Bearer ${token}`, instance.server]);
    return { bareGet, get, post };
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await client.send(`${COLLECTION}?labelSelector=w%3D1`, { method: 'DELETE' });
  }
}

async function wrk(seconds: number, args: readonly string[]): Promise<number> {
  const text = await output('wrk', ['-t2', '-c16', `-d${seconds}s`, ...args]);
  const failed = /Non-2xx[^:]*: (\d+)/.exec(text)?.[1];
  if (failed !== undefined) throw new Error(`${failed} requests of wrk were refused`);
  return Math.round(Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]));
}

async function bareRate({ dataDir }: BenchInstance, seconds: number): Promise<number> {
  const pki = join(dataDir, 'pki');
  const args = [join(import.meta.dirname, 'bare-server.ts'), join(pki, 'apiserver.crt'), join(pki, 'apiserver.key')];
  const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 2] });
  try {
    const port = await new Promise<string>((resolve, reject) => {
      server.once('exit', () => reject(new Error('the bare server ended')));
      server.stdout?.setEncoding('utf8').once('data', (text: string) => resolve(text.trim()));
    });
    return await wrk(seconds, [`https://127.0.0.1:${port}/`]);
  } finally {
    server.kill();
  }
}

/** A service account whose role allows the measured requests, and its token. */
async function benchToken(client: KubeClient): Promise<string> {
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const name = 'bench';
  const apiGroup = 'rbac.authorization.k8s.io';
  await must(client, accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } });
  await must(client, `${rbac}/namespaces/default/roles`, {
    apiVersion: `${apiGroup}/v1`,
    kind: 'Role',
    metadata: { name },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create'] }],
  });
  await must(client, `${rbac}/namespaces/default/rolebindings`, {
    apiVersion: `${apiGroup}/v1`,
    kind: 'RoleBinding',
    metadata: { name },
    roleRef: { apiGroup, kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace: 'default' }],
  });
  const answer = await must(client, `${accounts}/${name}/token`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {},
  });
  return (answer as { status: { token: string } }).status.token;
}

async function must(client: KubeClient, path: string, body: object): Promise<unknown> {
  const answer = await client.send(path, { method: 'POST', body });
  if (answer.status >= 300 && answer.status !== 409)
    throw new Error(`POST ${path} was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}
