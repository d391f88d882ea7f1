// Paths, queries and headers up to the HTTP server's limit (64 KiB for all headers of a request).
import { fill, list, type HostileInput, type HostileRequest } from './bodies.ts';

const ROOM = 60_000;

const queries: Readonly<Record<string, string>> = {
  'label selector: equal keys': `labelSelector=${encodeURIComponent(list(() => 'a=b', ['', ''], ROOM / 2))}`,
  'label selector: one set': `labelSelector=${encodeURIComponent(list((i) => `v${i}`, ['a in (', ')'], ROOM / 2))}`,
  'label selector: brackets': `labelSelector=${fill('(', ROOM)}`,
  'label selector: blanks': `labelSelector=a${fill('+', ROOM)}`,
  'label selector: exclamation marks': `labelSelector=${fill('!', ROOM)}`,
  'label selector: a long key': `labelSelector=${fill('a.', ROOM)}/b`,
  'field selector: terms': `fieldSelector=${encodeURIComponent(list(() => 'metadata.name!=b', ['', ''], ROOM / 2))}`,
  'field selector: backslashes': `fieldSelector=metadata.name%3D${fill('%5C', ROOM)}`,
  'continue token': `continue=${fill('A', ROOM)}`,
  'continue token of digits': `limit=1&continue=${Buffer.from(`{"v":"meta.k8s.io/v1","rv":${'9'.repeat(40_000)},"start":"a"}`).toString('base64url')}`,
  'resource version of digits': `resourceVersion=${'9'.repeat(ROOM)}`,
  'limit of digits': `limit=${'9'.repeat(ROOM)}`,
  'timeout of digits': `timeout=${'9'.repeat(ROOM)}s`,
  'timeout of parts': `timeout=${fill('1s', ROOM)}`,
  parameters: fill('a=b&', ROOM),
  'percent signs': `a=${fill('%', ROOM)}`,
};

const headers: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Accept list': { accept: list(() => 'application/json;as=Table;g=meta.k8s.io;v=v9', ['', ''], ROOM) },
  'Accept parameters': { accept: `a/b${fill(';a=b', ROOM)}` },
  'Accept quotes': { accept: `a/b;x="${fill('\\"', ROOM)}` },
  'Accept blanks': { accept: `a/b;${' '.repeat(ROOM)}x` },
  'Accept weights': { accept: list((i) => `a/${i};q=0.${i}`, ['', ''], ROOM) },
  'Accept-Encoding list': { 'accept-encoding': list(() => 'gzip;q=0', ['', ''], ROOM) },
  'JWT of dots': { authorization: `Bearer ${fill('.', ROOM)}` },
  'JWT of a large header': { authorization: `Bearer ${Buffer.from(fill('[', 40_000)).toString('base64url')}.e30.AA` },
  'JWT of a large key id': {
    authorization: `Bearer ${Buffer.from(`{"alg":"RS256","kid":"${'a'.repeat(40_000)}"}`).toString('base64url')}.e30.AA`,
  },
  'JWT of a large signature': {
    authorization: `Bearer ${Buffer.from('{"alg":"RS256"}').toString('base64url')}.e30.${'A'.repeat(50_000)}`,
  },
  'basic authentication': { authorization: `Basic ${fill('A', ROOM)}` },
  'impersonation: a long group': { 'impersonate-user': 'a', 'impersonate-group': fill('a', ROOM) },
  'user agent': { 'user-agent': fill('a/', ROOM) },
  'forwarded addresses': { 'x-forwarded-for': list(() => '1.1.1.1', ['', ''], ROOM) },
  'trace context': { traceparent: fill('0-', ROOM) },
  cookies: { cookie: fill('a=b; ', ROOM) },
  'Content-Type parameters': { 'content-type': `application/json${fill(';a=b', ROOM)}` },
};

const paths: Readonly<Record<string, HostileRequest>> = {
  'path of slashes': { method: 'GET', path: fill('/', ROOM) },
  'path of dots': { method: 'GET', path: fill('/..', ROOM) },
  'path of escapes': { method: 'GET', path: `/api/v1/namespaces/${fill('%2e', ROOM)}` },
  'path of bad escapes': { method: 'GET', path: `/api/v1/namespaces/${fill('%', ROOM)}` },
  'path below a pod proxy': { method: 'GET', path: `pods/a/proxy/${fill('../', ROOM)}` },
  'exec with many commands': { method: 'POST', path: `pods/a/exec?${fill('command=a&', ROOM)}` },
  'port-forward with many ports': { method: 'POST', path: `pods/a/portforward?${fill('ports=1&', ROOM)}` },
};

export function textInputs(): HostileInput[] {
  return [
    ...Object.entries(queries).map(([name, query]): HostileInput => ({
      name: `query: ${name}`,
      request: () => ({ method: 'GET', path: `configmaps?${query}` }),
    })),
    ...Object.entries(headers).map(([name, of]): HostileInput => ({
      name: `header: ${name}`,
      request: () => ({ method: 'GET', path: 'configmaps', headers: of }),
    })),
    {
      name: 'header: 5,000 impersonated groups',
      request: () => ({
        method: 'GET',
        path: 'configmaps',
        headers: { 'impersonate-user': 'a', 'impersonate-group': list((i) => `g${i}`, ['', ''], 40_000) },
      }),
    },
    ...Object.entries(paths).map(([name, request]): HostileInput => ({
      name: `path: ${name}`,
      request: () => request,
    })),
  ];
}
