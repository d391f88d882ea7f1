// Malformed HTTP/1.1: contradictory framing, pipelines, upgrades followed by hostile frames.
import { chance, pick, type Random, several } from '../draw.ts';
import type { RawExchange } from '../exchange.ts';
import { hostileStrings } from '../values/hostile.ts';
import { mutateBytes } from '../values/mutate-bytes.ts';
import { webSocketFrames, spdyFrames } from './stream-frames.ts';

const BODY = '{"metadata":{"name":"fuzz-a"}}';
const POST = 'POST /api/v1/namespaces/fuzz/configmaps HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';
const heads: readonly string[] = [
  `${POST}Content-Length: ${BODY.length}\r\n\r\n${BODY}`,
  `${POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\n${BODY}`,
  `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`,
  `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
  `${POST}Transfer-Encoding: chunked\r\n\r\n5;a=b\r\n{"a":\r\n2\r\n1}\r\n0\r\nX-Trailer: 1\r\n\r\n`,
  `${POST}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n${BODY}`,
  `${POST}Transfer-Encoding: chunked\r\n\r\n-1\r\n${BODY}`,
  `${POST}Content-Length: 99999999999\r\n\r\n${BODY}`,
  `${POST}Content-Length: 1e2\r\n\r\n${BODY}`,
  `${POST}Expect: 100-continue\r\nContent-Length: ${BODY.length}\r\n\r\n`,
  'GET /version HTTP/1.0\r\n\r\n',
  'GET /version HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
  'GET /version HTTP/1.1\r\n\r\n',
  'GET /version HTTP/9.9\r\nHost: a\r\n\r\n',
  'GET http://other/version HTTP/1.1\r\nHost: a\r\n\r\n',
  'GET //a@b:c/version HTTP/1.1\r\nHost: [::1\r\n\r\n',
  'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: a\r\n\r\n',
  'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'GET /version HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n',
  'GET /version HTTP/1.1\nHost: a\n\n',
  'GET /version HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n',
  'GET /api/v1/namespaces/fuzz/configmaps HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\n\r\n',
];

const upgradePaths: readonly string[] = [
  '/api/v1/namespaces/fuzz/pods/runs/exec?command=a&stdin=true&stdout=true&stderr=true',
  '/api/v1/namespaces/fuzz/pods/runs/exec?command=a&stdin=true&stdout=true&tty=true',
  '/api/v1/namespaces/fuzz/pods/runs/attach?stdin=true&stdout=true',
  '/api/v1/namespaces/fuzz/pods/runs/portforward',
  '/api/v1/namespaces/fuzz/pods/runs/portforward?ports=80',
  '/api/v1/namespaces/fuzz/pods/runs/log?follow=true',
  '/api/v1/namespaces/fuzz/pods/absent/exec?command=a&stdout=true',
  '/api/v1/nodes/node-1/proxy/exec/fuzz/runs/c?command=a&output=1',
  '/api/v1/namespaces/fuzz/services/fuzz-a/proxy/ws',
  '/api/v1/namespaces/fuzz/configmaps?watch=true&timeoutSeconds=1',
  '/api/v1/namespaces/fuzz/pods?watch=true&timeoutSeconds=1',
  '/apis/fuzz.io/v1/namespaces/fuzz/as?watch=1&timeoutSeconds=1',
  '/version',
];
const webSocketProtocols = [
  'v5.channel.k8s.io',
  'v4.channel.k8s.io',
  'v4.base64.channel.k8s.io',
  'channel.k8s.io',
  'SPDY/3.1+portforward.k8s.io',
  'base64.binary.k8s.io',
  'x',
  '',
  'a, v4.channel.k8s.io',
  '\u0080',
];
const spdyProtocols = ['v4.channel.k8s.io', 'v5.channel.k8s.io', 'portforward.k8s.io', 'x'];

/** `prefix` precedes every path; `extra` are header lines with the target's credentials. */
export function upgradeHead(random: Random, paths: readonly string[] = upgradePaths): [head: string, isSpdy: boolean] {
  const isSpdy = chance(random, 0.35);
  const path = chance(random, 0.05) ? `${pick(random, paths)}&${encodeURIComponent('\0')}=%zz` : pick(random, paths);
  const lines = isSpdy
    ? [
        'Connection: Upgrade',
        `Upgrade: ${pick(random, ['SPDY/3.1', 'SPDY/2', 'spdy/3.1, websocket'])}`,
        ...several(random, 2, spdyProtocols).map((one) => `X-Stream-Protocol-Version: ${one}`),
      ]
    : [
        'Connection: Upgrade',
        `Upgrade: ${chance(random, 0.95) ? 'websocket' : pick(random, ['WebSocket, x', 'x', ''])}`,
        `Sec-WebSocket-Key: ${chance(random, 0.9) ? 'dGhlIHNhbXBsZSBub25jZQ==' : pick(random, ['', 'x', 'a'.repeat(5000)])}`,
        `Sec-WebSocket-Version: ${chance(random, 0.9) ? 13 : pick(random, ['12', 'x', ''])}`,
        ...(chance(random, 0.85) ? [`Sec-WebSocket-Protocol: ${pick(random, webSocketProtocols)}`] : []),
        ...(chance(random, 0.1) ? ['Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=99'] : []),
      ];
  const method = chance(random, 0.8) ? 'GET' : 'POST';
  return [`${method} ${path} HTTP/1.1\r\nHost: a\r\n${lines.join('\r\n')}\r\n\r\n`, isSpdy];
}

export function upgradeExchange(random: Random, paths?: readonly string[]): RawExchange {
  const [head, isSpdy] = upgradeHead(random, paths);
  const frames = isSpdy ? spdyFrames(random) : webSocketFrames(random);
  // Frames right after the head arrive together with the upgrade, or even before its response.
  const parts = chance(random, 0.3) ? [head + frames.join('')] : [head, ...frames];
  return { kind: 'raw', protocol: 'http/1.1', parts };
}

const hostileHeader = (random: Random): string =>
  `${pick(random, ['X-A', 'Accept', 'Content-Type', 'Impersonate-User', 'Audit-ID', 'Authorization', 'Host', pick(random, hostileStrings)])}: ${Buffer.from(pick(random, hostileStrings)).toString('latin1')}\r\n`;

export function rawRequest(random: Random, all: readonly string[] = heads): RawExchange {
  if (chance(random, 0.1)) {
    const pipeline = Array.from({ length: 2 + random.int(12) }, () => pick(random, all)).join('');
    return { kind: 'raw', protocol: 'http/1.1', parts: [pipeline] };
  }
  let text = pick(random, all);
  if (chance(random, 0.4)) text = text.replace('\r\n', `\r\n${hostileHeader(random)}`);
  if (chance(random, 0.6)) text = mutateBytes(random, text, 1 + random.int(3));
  const cut = random.int(text.length + 1);
  const parts = chance(random, 0.15) ? [text.slice(0, cut), text.slice(cut)] : [text];
  return { kind: 'raw', protocol: 'http/1.1', parts };
}
