import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest } from '../../api/transport.ts';
import { createAnonymousAuthenticator } from './anonymous.ts';
import { createRequestHeaderAuthenticator, exceptProxies } from './request-header.ts';
import { clientCertificateAuthenticator } from './client-certificate.ts';

const authority = 'a'.repeat(64);
const config = {
  allowedNames: ['proxy'],
  usernameHeaders: ['x-remote-user'],
  uidHeaders: ['x-remote-uid'],
  groupHeaders: ['x-remote-group'],
  extraPrefixes: ['x-remote-extra-'],
  authorityFingerprints: () => [authority],
  clientFingerprints: () => ['b'.repeat(64)],
};
const from = (commonName: string | undefined, headers: Record<string, string>, issuer = authority): ApiRequest =>
  ({
    headers,
    ...(commonName === undefined
      ? {}
      : { peerCertificate: { commonName, organizations: [], fingerprint256: 'f', authorityFingerprint256: issuer } }),
  }) as unknown as ApiRequest;

test('a refused certificate is a failure, not anonymous', () => {
  const open = createAnonymousAuthenticator();
  assert.throws(() => open.authenticate({ path: '/', refusedCertificate: true } as ApiRequest), { code: 401 });
  assert.notEqual(open.authenticate({ path: '/' } as ApiRequest), undefined);
});

test('front proxies: names beyond ASCII are UTF-8, other bytes are refused, and no key is the prototype', () => {
  const proxies = createRequestHeaderAuthenticator(config);
  const wire = Buffer.from('jürgen€', 'utf8').toString('latin1');
  const user = proxies.authenticate(
    from('proxy', { 'x-remote-user': wire, 'x-remote-group': wire, 'x-remote-extra-__proto__': wire }),
  ) as { name: string; groups: string[]; extra: object };
  assert.equal(user.name, 'jürgen€');
  assert.deepEqual(user.groups, ['jürgen€', 'system:authenticated']);
  assert.deepEqual(Object.entries(user.extra), [['__proto__', ['jürgen€']]]);
  assert.equal(Object.getPrototypeOf(user.extra), Object.prototype);
  assert.throws(() => proxies.authenticate(from('proxy', { 'x-remote-user': 'j\u00fcrgen' })), { code: 400 });
});

test('front proxies: headers count with their certificate only, and their certificate for nothing else', () => {
  const proxies = createRequestHeaderAuthenticator(config);
  const headers = {
    'x-remote-user': 'ann',
    'x-remote-uid': '7',
    'x-remote-group': 'CN=a,OU=b',
    'x-remote-extra-acme.com%2fproject': 'p',
  };
  assert.deepEqual(proxies.authenticate(from('proxy', headers)), {
    name: 'ann',
    uid: '7',
    groups: ['CN=a,OU=b', 'system:authenticated'],
    extra: { 'acme.com/project': ['p'] },
  });
  assert.equal(proxies.authenticate(from('other', headers)), undefined);
  assert.equal(proxies.authenticate(from('proxy', headers, 'b'.repeat(64))), undefined);
  assert.equal(proxies.authenticate(from(undefined, headers)), undefined);
  assert.equal(proxies.authenticate(from('proxy', {})), undefined);
  const certificates = exceptProxies(clientCertificateAuthenticator, config);
  assert.equal(certificates.authenticate(from('system:admin', {})), undefined);
  assert.notEqual(certificates.authenticate(from('ann', {}, 'b'.repeat(64))), undefined);
  const { peerCertificate, ...rest } = from('ann', headers);
  const { authorityFingerprint256: _authority, ...unknown } = peerCertificate!;
  const byIntermediate = { ...rest, peerCertificate: unknown };
  assert.equal(certificates.authenticate(byIntermediate), undefined);
  assert.equal(proxies.authenticate(byIntermediate), undefined);
});

test("front proxies: where they share the clients' authority, a certificate that is not a proxy's is that of a user", () => {
  const both = { ...config, clientFingerprints: () => [authority] };
  const proxies = createRequestHeaderAuthenticator(both);
  const certificates = exceptProxies(clientCertificateAuthenticator, both);
  const user = from('ann', { 'x-remote-user': 'root' });
  assert.equal(proxies.authenticate(user), undefined);
  assert.equal((certificates.authenticate(user) as { name: string }).name, 'ann');
  assert.equal((proxies.authenticate(from('proxy', { 'x-remote-user': 'bob' })) as { name: string }).name, 'bob');
});
