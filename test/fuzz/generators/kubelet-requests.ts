// Requests of everything that a kubelet's server has, by users with and without rights, and anonymous.
import { chance, pick, type Random, weighted } from '../draw.ts';
import type { HttpExchange, RawExchange } from '../exchange.ts';
import { hostileStrings } from '../values/hostile.ts';
import { segment } from './api-requests.ts';
import { contentTypes, headersOf } from './headers.ts';
import { h2Exchange } from './h2-frames.ts';
import { type ParameterTable, queryOf } from './queries.ts';
import { rawRequest, upgradeExchange } from './raw-http.ts';

const parameters: ParameterTable = {
  follow: ['true', 'false', 'x', ''],
  previous: ['true', 'x'],
  timestamps: ['true', 'x'],
  tailLines: ['0', '1', '-1', 'x', '9223372036854775808', '1e3'],
  tail: ['all', '1', '-1', 'x'],
  limitBytes: ['1', '0', '-1', '9223372036854775807'],
  sinceSeconds: ['1', '0', '-1', 'x', '9223372036854775807'],
  sinceTime: ['2026-01-01T00:00:00Z', 'x', '0000-00-00T00:00:00Z', '+275760-09-13T00:00:00Z'],
  untilTime: ['2026-01-01T00:00:00Z', 'x'],
  stream: ['All', 'Stdout', 'Stderr', 'x'],
  cmd: ['sh', '', '\0', 'a b  c', 'a'.repeat(5000)],
  command: ['sh', '', '\0', '-c'],
  input: ['1', 'true', 'x'],
  output: ['1', 'true'],
  error: ['1', 'true'],
  tty: ['1', 'true'],
  port: ['80', '0', '-1', '65536', 'x', '8e1', ' 80'],
  timeout: ['0', '1', '-1', 'x', '9223372036854775808', '1e999'],
  only_cpu_and_memory: ['true', 'x'],
  verbose: ['', '1'],
  query: ['kubelet', '../..', '/etc/passwd', '-a', '\0', 'a;b', '*', '/messages', ''],
  pattern: ['a', '(a+)+$', '[', '\\'],
  boot: ['0', '-1', 'x', '1'],
  exclude: ['ping'],
};

/** Running pods, and missing ones. */
const pods = ['fuzz/steady', 'fuzz/steady', 'fuzz/steady', 'fuzz/fuzz-1', 'fuzz/absent', 'default/steady', 'fuzz'];
const containers = ['c', 'c', 'c', 'absent', 'u/c', ''];

const fixed = [
  '/',
  '/pods',
  '/pods/',
  '/runningpods/',
  '/healthz',
  '/healthz/ping',
  '/healthz/log',
  '/healthz/syncloop',
  '/stats/summary',
  '/stats/',
  '/stats/container',
  '/metrics',
  '/metrics/cadvisor',
  '/metrics/resource',
  '/metrics/probes',
  '/metrics/slis',
  '/configz',
  '/statusz',
  '/flagz',
  '/logs/',
  '/logs/dpkg.log',
  '/logs/apt',
  '/logs/../../etc/passwd',
  '/logs/%2e%2e/%2e%2e/etc/passwd',
  '/logs/%00',
  '/debug/pprof/',
  '/debug/flags/v',
  '/cri/exec/x',
  '/keelson/local-volumes',
  '/__proto__',
  '/constructor/a',
  '//pods',
  '/pods/..;/metrics',
  '*',
  '/%',
];
const actions = ['containerLogs', 'run', 'exec', 'attach', 'portForward', 'checkpoint'];

const podPath = (random: Random, action: string): string =>
  `/${action}/${pick(random, pods)
    .split('/')
    .map((part) => segment(random, part, 0.04))
    .join('/')}${action === 'portForward' ? '' : `/${segment(random, pick(random, containers), 0.04)}`}`;

const doors = [
  [70, ''],
  [8, 'nobody'],
  [8, 'account'],
  [14, 'read-only'],
] as const;

const through = (door: string): { readonly to?: string } => (door === '' ? {} : { to: door });

const bodies = ['', '{}', 'x', '{"a":'.repeat(2000), '\0'.repeat(70_000), 'cmd=sh&timeout=1', 'a'.repeat(3_000_000)];

export function kubeletRequest(random: Random): HttpExchange {
  const action = pick(random, actions);
  const isAction = chance(random, 0.5);
  const path = isAction ? podPath(random, action) : pick(random, fixed);
  const usual = isAction && ['run', 'checkpoint'].includes(action) ? 'POST' : 'GET';
  const method = chance(random, 0.85)
    ? usual
    : pick(random, ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'x']);
  const body = method !== 'GET' && method !== 'HEAD' && chance(random, 0.4) ? pick(random, bodies) : undefined;
  const headers = headersOf(random, body === undefined ? undefined : pick(random, contentTypes));
  const own = chance(random, 0.05) ? [`${encodeURIComponent('é')}=${'a'.repeat(6000)}`] : [];
  return {
    kind: 'http',
    over: chance(random, 0.5) ? 'h1' : 'h2',
    ...through(weighted(random, doors)),
    method,
    path: `${path}${queryOf(random, own, parameters)}`,
    headers: headers.map(([name, value]) => [name, Buffer.from(value).toString('latin1')]),
    ...(body !== undefined && { body }),
  };
}

const upgradePaths = [
  '/exec/fuzz/steady/c?command=a&input=1&output=1&error=1',
  '/exec/fuzz/steady/c?command=a&output=1&tty=1&input=1',
  '/exec/fuzz/absent/c?command=a&output=1',
  '/attach/fuzz/steady/c?output=1&input=1',
  '/attach/fuzz/steady/c?output=1&error=1',
  '/portForward/fuzz/steady',
  '/portForward/fuzz/steady?port=80',
  '/portForward/fuzz/steady?port=80&port=81',
  '/portForward/fuzz/steady/uid',
  '/containerLogs/fuzz/steady/c?follow=true',
  '/run/fuzz/steady/c?cmd=a',
  '/pods',
];
const rawHeads = [
  'GET /pods HTTP/1.1\r\nHost: a\r\n\r\n',
  'GET /healthz HTTP/1.0\r\n\r\n',
  'POST /run/fuzz/steady/c?cmd=a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc',
  'POST /run/fuzz/steady/c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
  'POST /checkpoint/fuzz/steady/c HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde',
  'GET /containerLogs/fuzz/steady/c?follow=true HTTP/1.1\r\nHost: a\r\n\r\n',
  'GET /metrics HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n',
  'GET http://other/pods HTTP/1.1\r\nHost: a\r\n\r\n',
  'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: a\r\n\r\n',
  'POST /exec/fuzz/steady/c?output=1 HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n',
  `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
  `GET /pods HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${'a.'.repeat(3)}\r\n\r\n`,
];

/** Raw connections: upgrades with frames, HTTP/1.1 and HTTP/2 that no library writes. */
export function kubeletConnection(random: Random): RawExchange {
  const exchange = weighted(random, [
    [5, () => upgradeExchange(random, upgradePaths)],
    [2, () => rawRequest(random, rawHeads)],
    [2, () => h2Exchange(random, ['/healthz', '/run/fuzz/steady/c?cmd=a'])],
  ])();
  // The read-only server is plain HTTP and has neither upgrades nor HTTP/2.
  const door = exchange.protocol === 'h2' ? pick(random, ['', '', '', 'nobody']) : weighted(random, doors);
  return { ...exchange, ...through(door) };
}

/** An invalid token, for the address without credentials. */
export function tokenRequest(random: Random): HttpExchange {
  const { to: _, ...request } = kubeletRequest(random);
  const token = pick(
    random,
    hostileStrings.filter((text) => /^[\x21-\x7e]*$/.test(text)),
  );
  return { ...request, to: 'nobody', headers: [['Authorization', `Bearer ${token}`], ...request.headers] };
}
