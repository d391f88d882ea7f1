import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { importSPKI, jwtVerify, SignJWT, importPKCS8 } from 'jose';
import { createSimCrypto } from '../../platform/sim/crypto.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { decodeJwt, exportJwk, importPrivateKey, importPublicKey, isSignedBy, verifyTimes, signJwt } from './jwt.ts';
import type { TokenAlgorithm } from './jwt.ts';

const { subtle } = createSimCrypto(new VirtualClock()).webcrypto;

const generated: Readonly<Record<TokenAlgorithm, object>> = {
  RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) },
  ES256: { name: 'ECDSA', namedCurve: 'P-256' },
  ES384: { name: 'ECDSA', namedCurve: 'P-384' },
  ES512: { name: 'ECDSA', namedCurve: 'P-521' },
};

async function pems(algorithm: TokenAlgorithm): Promise<{ privatePem: string; publicPem: string }> {
  const pair = (await subtle.generateKey(generated[algorithm] as never, true, ['sign', 'verify'])) as never as {
    publicKey: never;
    privateKey: never;
  };
  const pem = (label: string, der: ArrayBuffer): string =>
    `-----BEGIN ${label}-----\n${Buffer.from(der).toString('base64')}\n-----END ${label}-----\n`;
  return {
    privatePem: pem('PRIVATE KEY', await subtle.exportKey('pkcs8', pair.privateKey)),
    publicPem: pem('PUBLIC KEY', await subtle.exportKey('spki', pair.publicKey)),
  };
}

describe('signed tokens', () => {
  for (const algorithm of ['RS256', 'ES256', 'ES384', 'ES512'] as const)
    it(`agrees with another implementation on ${algorithm}`, async () => {
      const { privatePem, publicPem } = await pems(algorithm);
      const sign = await importPrivateKey(subtle, privatePem, algorithm);
      const verify = await importPublicKey(subtle, publicPem, algorithm);
      const ours = await signJwt(subtle, { sign, algorithm, id: 'one' }, { iss: 'me', sub: 'you', exp: 4e9 });
      const { payload, protectedHeader } = await jwtVerify(ours, await importSPKI(publicPem, algorithm));
      assert.deepEqual(payload, { iss: 'me', sub: 'you', exp: 4e9 });
      assert.deepEqual(protectedHeader, { alg: algorithm, kid: 'one' });
      const theirs = await new SignJWT({ a: 1 })
        .setProtectedHeader({ alg: algorithm })
        .sign(await importPKCS8(privatePem, algorithm));
      assert.equal(await isSignedBy(subtle, { verify, algorithm }, theirs), true);
      const jwk = (await exportJwk(subtle, verify)) as { kty: string };
      assert.equal(jwk.kty, algorithm === 'RS256' ? 'RSA' : 'EC');
    });

  it('accepts nothing that was changed, is of another algorithm or has critical headers', async () => {
    const { privatePem, publicPem } = await pems('ES256');
    const sign = await importPrivateKey(subtle, privatePem, 'ES256');
    const verify = await importPublicKey(subtle, publicPem, 'ES256');
    const token = await signJwt(subtle, { sign, algorithm: 'ES256', id: 'one' }, { sub: 'you' });
    const [head = '', claims = '', signature = ''] = token.split('.');
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const bad = [
      `${head}.${encode({ sub: 'me' })}.${signature}`,
      `${encode({ alg: 'none' })}.${claims}.`,
      `${encode({ alg: 'none' })}.${claims}.${signature}`,
      `${encode({ alg: 'HS256' })}.${claims}.${signature}`,
      `${encode({ alg: 'ES256', crit: ['b64'] })}.${claims}.${signature}`,
      `${head}.${claims}`,
      `${token}.${signature}`,
      '',
    ];
    assert.equal(await isSignedBy(subtle, { verify, algorithm: 'ES256' }, token), true);
    for (const text of bad) assert.equal(await isSignedBy(subtle, { verify, algorithm: 'ES256' }, text), false, text);
  });

  it('decodes no text that is no token', () => {
    for (const text of ['', 'a.b.c', '..', 'bnVsbA.bnVsbA.x', 'e30', `e30.${'e30='}.x`])
      assert.equal(decodeJwt(text), undefined, text);
    assert.deepEqual(decodeJwt('e30.e30.x'), { header: {}, claims: {} });
  });

  it('judges times', () => {
    const at = { nowSeconds: 1000, leewaySeconds: 60 };
    assert.equal(verifyTimes({ exp: 941, nbf: 1060 }, at), 'valid');
    assert.equal(verifyTimes({ exp: 940 }, at), 'expired');
    assert.equal(verifyTimes({ nbf: 1061 }, at), 'not yet');
    assert.equal(verifyTimes({ exp: 'never' as never }, at), 'malformed');
    assert.equal(verifyTimes({}, at), 'valid');
  });
});
