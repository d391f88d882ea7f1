/**
 * Requests per second through the data plane of routes, compared with Debian's nginx in the same run: `node bench/routes.ts
 * [seconds]`. Both are one process in front of the same backend (an nginx with 1 KB responses); wrk uses 16 persistent
 * connections, plain and with TLS. Rounds alternate, so that load of the machine affects both. Needs nginx and wrk.
 */
import { execFileSync, fork, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataPlane } from '../src/gateway/data-plane/data-plane.ts';
import type { Snapshot } from '../src/gateway/snapshot/snapshot.ts';
import { createTestAuthority, type TestCertificate } from '../src/platform/node/certificates-fixture.ts';
import { freePort } from '../src/platform/node/free-port-fixture.ts';
import { createNodePlatform } from '../src/platform/node/node-platform.ts';

const ROUNDS = 4;
const CONNECTIONS = 16;

interface Ports {
  readonly backend: number;
  readonly plain: number;
  readonly tls: number;
}

async function serve(snapshot: Snapshot): Promise<void> {
  const { clock, log } = createNodePlatform({ log: { level: 'warn' }, startSpawner: false });
  const plane = new DataPlane({ clock, log, report: () => process.send?.('ready') });
  process.on('disconnect', () => process.exit());
  await plane.apply(1, snapshot);
}

function startNginx(folder: string, name: string, servers: string): ChildProcess {
  const file = join(folder, `${name}.conf`);
  writeFileSync(
    file,
    `daemon off; master_process off; worker_processes 1; pid ${folder}/${name}.pid; error_log ${folder}/${name}.log;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 1000000; ${servers} }`,
  );
  return spawn('nginx', ['-c', file, '-p', folder], { stdio: 'inherit' });
}

/** The processor time of a process in seconds. */
function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

interface Round {
  readonly perSecond: number;
  readonly perProcessorSecond: number;
}

function ask(url: string, pid: number, seconds: number): Round {
  const before = processorSeconds(pid);
  const output = execFileSync('wrk', ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '-H', 'Host: web.example', url], {
    encoding: 'utf8',
  });
  if (/Non-2xx|Socket errors/.test(output)) throw new Error(output);
  const count = Number(/(\d+) requests in/.exec(output)?.[1]);
  const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1]);
  return { perSecond, perProcessorSecond: count / (processorSeconds(pid) - before) };
}

function snapshotOf({ backend, plain, tls }: Ports, pair: TestCertificate): Snapshot {
  const route = {
    source: 'bench',
    host: 'web.example',
    wildcardDepth: 'one',
    match: { path: { type: 'prefix', value: '/' } },
    backends: [{ backend: 'b', weight: 1 }],
    emptyStatus: 503,
    responseTimeoutMs: 60_000,
  } as const;
  return {
    listeners: [
      { port: plain, isTls: false, routes: [route], certificates: [] },
      { port: tls, isTls: true, routes: [route], certificates: [{ names: [''], ...pair }] },
    ],
    backends: { b: { protocol: 'http', endpoints: [{ address: '127.0.0.1', port: backend }] } },
  };
}

function nginxProxy({ backend, plain, tls }: Ports, folder: string): string {
  const server = `server_name web.example; location / { proxy_pass http://b; proxy_http_version 1.1;
proxy_set_header Connection ""; proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr;
proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-Host $http_host; }`;
  return `upstream b { server 127.0.0.1:${backend}; keepalive 64; keepalive_requests 1000000; }
server { listen ${plain}; ${server} }
server { listen ${tls} ssl; ssl_certificate ${folder}/cert.pem; ssl_certificate_key ${folder}/key.pem; ${server} }`;
}

async function main(seconds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-bench-'));
  const pair = await (await createTestAuthority('bench')).issue('CN=web.example', ['web.example']);
  writeFileSync(join(folder, 'cert.pem'), pair.certPem);
  writeFileSync(join(folder, 'key.pem'), pair.keyPem);
  const backend = await freePort();
  const own = { backend, plain: await freePort(), tls: await freePort() };
  const nginx = { backend, plain: await freePort(), tls: await freePort() };
  const body = 'x'.repeat(1024);
  const children = [
    startNginx(folder, 'backend', `server { listen 127.0.0.1:${backend}; location / { return 200 '${body}'; } }`),
    startNginx(folder, 'proxy', nginxProxy(nginx, folder)),
  ];
  const plane = fork(import.meta.filename, ['serve'], { execArgv: process.execArgv });
  try {
    const ready = new Promise((resolve) => plane.once('message', resolve));
    plane.send(snapshotOf(own, pair));
    await ready;
    for (const scheme of ['http', 'https'] as const) {
      const url = (ports: Ports): string => `${scheme}://127.0.0.1:${scheme === 'http' ? ports.plain : ports.tls}/`;
      const rounds = { keelson: [] as Round[], nginx: [] as Round[] };
      for (let round = 0; round <= ROUNDS; round++) {
        const one = ask(url(own), plane.pid!, seconds);
        const other = ask(url(nginx), children[1]!.pid!, seconds);
        if (round === 0) continue; // warm-up
        rounds.keelson.push(one);
        rounds.nginx.push(other);
      }
      for (const [name, list] of Object.entries(rounds)) {
        const middle = (of: keyof Round): string =>
          Math.round(list.map((one) => one[of]).sort((a, b) => a - b)[Math.floor(list.length / 2)]!).toLocaleString(
            'en',
          );
        console.log(
          `${scheme.padEnd(5)} ${name.padEnd(8)} ${middle('perSecond')} requests/s, ${middle('perProcessorSecond')} per second of processor`,
        );
      }
    }
    console.log(
      `memory of the data plane: ${/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${plane.pid}/status`, 'utf8'))?.[1]} kB`,
    );
  } finally {
    plane.disconnect();
    for (const child of children) child.kill();
    rmSync(folder, { recursive: true });
  }
}

if (process.argv[2] === 'serve') process.once('message', (snapshot) => void serve(snapshot as Snapshot));
else await main(Number(process.argv[2] ?? 5));
