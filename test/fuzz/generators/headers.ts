// Headers of requests with valid framing: negotiation, impersonation, tracing, and unknown names.
import { chance, pick, type Random } from '../draw.ts';
import { hostileStrings } from '../values/hostile.ts';

export type Header = readonly [name: string, value: string];

const JSON = 'application/json';
const GROUP = 'g=meta.k8s.io;v=v1';
const accepts: readonly string[] = [
  JSON,
  '*/*',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/vnd.kubernetes.protobuf, application/json',
  `${JSON};as=Table;${GROUP}`,
  `${JSON};as=Table;g=meta.k8s.io;v=v1beta1,${JSON}`,
  `application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;${GROUP}`,
  `${JSON};as=PartialObjectMetadataList;${GROUP}`,
  `application/yaml;as=Table;${GROUP}`,
  `${JSON};as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2`,
  `${JSON};as=__proto__;g=constructor;v=v1`,
  `${JSON};stream=watch`,
  'application/cbor',
  'text/plain',
  'text/html',
  'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
  '*',
  'a/b;q=0',
  ';;;',
  `${JSON};q=`,
  `${JSON},`.repeat(500),
];

export const contentTypes: readonly string[] = [
  JSON,
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
  'application/apply-patch+cbor',
  'application/cbor',
  'text/plain',
  'multipart/form-data',
  `${JSON}; charset=utf-16`,
  `${JSON};${';'.repeat(300)}`,
  '__proto__',
  '',
];

/** Headers with any values that a program may send. */
const others: readonly Header[] = [
  ['Content-Encoding', 'gzip'],
  ['Content-Encoding', 'br'],
  ['Accept-Encoding', 'gzip'],
  ['Accept-Encoding', 'gzip;q=0, *;q=1'],
  ['Accept-Encoding', 'identity;q=0'],
  ['Impersonate-User', 'somebody'],
  ['Impersonate-User', 'system:node:node-1'],
  ['Impersonate-User', ''],
  ['Impersonate-Group', 'system:masters'],
  ['Impersonate-Group', 'system:authenticated'],
  ['Impersonate-Uid', 'u'],
  ['Impersonate-Extra-a%zzb', 'c'],
  ['Impersonate-Extra-__proto__', 'c'],
  ['Impersonate-Extra-scopes', '\u00e9'],
  ['X-Remote-User', 'admin'],
  ['X-Remote-Group', 'system:masters'],
  ['Authorization', 'Bearer a.b.c'],
  ['Authorization', 'Basic !!!'],
  ['Audit-ID', 'a'.repeat(300)],
  ['Audit-ID', 'é\u0080'],
  ['Traceparent', '00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-ff'],
  ['Warning', '299 - "a"'],
  ['If-None-Match', '"a"'],
  ['If-Modified-Since', 'x'],
  ['Range', 'bytes=0-1,2-3,-5'],
  ['Expect', '100-continue'],
  ['Expect', 'x'],
  ['X-Forwarded-For', '1.2.3.4, ::1, x'],
  ['X-Http-Method-Override', 'DELETE'],
  ['Origin', 'https://evil.example'],
  ['Cookie', 'a=b; '.repeat(100)],
  ['User-Agent', 'kubectl/v1.36 (\u00ff) %s%n'],
  ['User-Agent', ''],
  ['Accept-Language', 'x'],
];

/** Characters that are valid in a header; the HTTP parser refuses others, which raw exchanges test. */
const visible = hostileStrings.filter((text) => /^[\t\x20-\x7e\x80-\xff]*$/.test(text) && text.trim() === text);

export function headersOf(random: Random, contentType?: string): Header[] {
  const headers: Header[] = [];
  if (chance(random, 0.4)) headers.push(['Accept', pick(random, accepts)]);
  if (contentType !== undefined)
    headers.push(['Content-Type', chance(random, 0.06) ? pick(random, contentTypes) : contentType]);
  while (chance(random, 0.12)) headers.push(pick(random, others));
  if (chance(random, 0.02))
    headers.push([
      pick(random, ['X-A', 'Audit-ID', 'User-Agent', 'Accept', 'Impersonate-User']),
      pick(random, visible),
    ]);
  if (chance(random, 0.005)) headers.push(['X-Long', 'a'.repeat(pick(random, [8000, 40_000]))]);
  return headers;
}
