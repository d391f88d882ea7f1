/** Signing in at an OpenID Connect issuer, in a real browser, over real TLS. */
import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { exportJWK, SignJWT } from 'jose';
import type { Locator, Page } from 'playwright-core';
import { ensureClusterPki } from '../../src/component-helpers/pki/cluster-pki.ts';
import { createNodePlatform } from '../../src/platform/node/node-platform.ts';
import { build } from '../../tools/build.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { startControlPlane } from '../control-plane/control-plane-fixture.ts';
import { accessibilityProblems } from './axe.ts';
import { openBrowser, skipBrowser } from './browser.ts';
import { openPage } from './pod-world.ts';

/** An issuer with a page on which the user agrees or refuses, and a confidential client. */
async function startIssuer(directory: string) {
  const { files, crypto, random, clock } = createNodePlatform();
  const { ca, apiServer } = await ensureClusterPki(
    files,
    { crypto, random, nowMs: () => clock.nowMs() },
    { dir: join(directory, 'pki'), names: { nodeName: 'none', dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] } },
  );
  const key = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = { ...(await exportJWK(key.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' };
  const begun = new Map<string, URLSearchParams>();
  const redirects: string[] = [];
  let origin = '';
  const redeem = async (form: URLSearchParams, authorization: string | undefined): Promise<object | undefined> => {
    const asked = begun.get(form.get('code') ?? '');
    begun.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (authorization !== `Basic ${Buffer.from('console:top+secret').toString('base64')}`) return undefined;
    if (asked?.get('code_challenge') !== challenge) return undefined;
    const claims = { iss: origin, aud: 'console', sub: 'ann', groups: ['readers'], nonce: asked.get('nonce') };
    const token = new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'one' }).setIssuedAt();
    const id_token = await token.setExpirationTime('10m').sign(key.privateKey);
    return { access_token: 'unused', token_type: 'Bearer', id_token };
  };
  const documents = (): Record<string, object> => ({
    '/.well-known/openid-configuration': {
      issuer: origin,
      jwks_uri: `${origin}/keys`,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
    },
    '/keys': { keys: [jwk] },
  });
  const page = (asked: URLSearchParams): string => {
    const code = `code-${begun.size + redirects.length}`;
    begun.set(code, asked);
    const back = (answer: Record<string, string>): string => {
      const query = new URLSearchParams({ ...answer, state: asked.get('state') ?? '' });
      const url = `${asked.get('redirect_uri')}?${query}`;
      redirects.push(url);
      return url.replaceAll('&', '&amp;');
    };
    const refused = { error: 'access_denied', error_description: '<b>Ann</b> said no' };
    return `<a href="${back({ code })}">Agree</a> <a href="${back(refused)}">Refuse</a>`;
  };
  const json = { 'content-type': 'application/json' };
  const server = createServer({ cert: apiServer.certPem, key: apiServer.keyPem }, async (request, response) => {
    const url = new URL(request.url ?? '', origin);
    if (url.pathname === '/authorize')
      return void response.writeHead(200, { 'content-type': 'text/html' }).end(page(url.searchParams));
    if (url.pathname === '/favicon.ico') return void response.writeHead(204).end();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    const answer =
      url.pathname === '/token' ? await redeem(form, request.headers.authorization) : documents()[url.pathname];
    response
      .writeHead(answer === undefined ? 400 : 200, json)
      .end(JSON.stringify(answer ?? { error: 'invalid_grant' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `https://localhost:${(server.address() as AddressInfo).port}`;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  return { origin, caPem: ca.certPem, close };
}

test('the console signs in at an OpenID Connect issuer, as the user that it names', { skip: skipBrowser }, async () => {
  await build(repositoryRoot);
  const directory = await mkdtemp(join(tmpdir(), 'keelson-console-oidc-'));
  const issuer = await startIssuer(directory);
  await writeFile(join(directory, 'ca.crt'), issuer.caPem);
  await writeFile(join(directory, 'secret'), 'top secret\n');
  const plane = await startControlPlane({
    console: true,
    flags: {
      'oidc-issuer-url': issuer.origin,
      'oidc-client-id': 'console',
      'oidc-ca-file': join(directory, 'ca.crt'),
      'oidc-username-prefix': 'oidc:',
      'oidc-groups-claim': 'groups',
      'oidc-groups-prefix': 'oidc:',
      'console-oidc-client-id': 'console',
      'console-oidc-client-secret-file': join(directory, 'secret'),
    },
  });
  try {
    const role = ['-n', 'default', 'create', 'rolebinding', 'readers', '--clusterrole=view', '--group=oidc:readers'];
    assert.equal((await plane.kubectl(role)).code, 0);
    const pod = await plane.kubectl(['-n', 'default', 'run', 'seen-by-ann', '--image=example/none:1']);
    assert.equal(pod.code, 0, pod.stderr);
    await using browser = await openBrowser();
    const { page, context } = browser;
    const start = (where: Page): Locator =>
      where.getByRole('link', { name: `Sign in with ${new URL(issuer.origin).host}` });
    const own = `https://localhost:${plane.port}/console/`;
    await openPage(page, own, start(page));
    assert.deepEqual(await accessibilityProblems(page), []);

    await start(page).click();
    await page.getByRole('link', { name: 'Refuse' }).click();
    await page.getByRole('alert').waitFor();
    assert.equal(await page.getByRole('alert').textContent(), 'The issuer denied the sign-in.');
    assert.equal(page.url(), own);
    assert.deepEqual(await accessibilityProblems(page), []);
    const folder = process.env['KEELSON_SCREENSHOTS'];
    if (folder !== undefined)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: join(folder, `sign-in-${colorScheme}.png`) });
      }

    await start(page).click();
    const agree = page.getByRole('link', { name: 'Agree' });
    const stolen = await agree.getAttribute('href');
    await using other = await openBrowser();
    // The sign-in page comes first: a page that was loaded once can be loaded again where a link of the machine changes.
    await openPage(other.page, own, start(other.page));
    await openPage(other.page, stolen!, other.page.getByRole('alert'));
    assert.match((await other.page.getByRole('alert').textContent()) ?? '', /not begun in this browser/);
    assert.equal(other.page.url(), own);
    assert.deepEqual(await other.context.cookies(), []);

    await agree.click();
    await page.locator('nav.menu a').first().waitFor();
    assert.equal(page.url().split('#')[0], own, 'no code is left in the address');
    await page.evaluate("location.hash = '#/list/pods?ns=default'");
    await page.locator('.grid .row').getByText('seen-by-ann').waitFor();
    await page.getByText('oidc:ann').first().waitFor();
    const status = (path: string): Promise<number> =>
      page.evaluate(async (where) => (await fetch(where, { headers: { 'X-Keelson-Console': '1' } })).status, path);
    assert.equal(await status('/api/v1/namespaces/default/pods'), 200);
    assert.equal(await status('/api/v1/namespaces/default/secrets'), 403, 'what the role does not grant');
    assert.equal(await status('/api/v1/nodes'), 403);
    const names = (await context.cookies()).map(({ name, httpOnly, secure }) => [name, httpOnly, secure]);
    assert.deepEqual(names, [[`__Host-keelson-console-${plane.port}`, true, true]]);

    const elsewhere = `https://other.localhost:${plane.port}/console/`;
    await openPage(other.page, elsewhere, start(other.page));
    await start(other.page).click();
    await other.page.getByRole('alert').waitFor();
    assert.match((await other.page.getByRole('alert').textContent()) ?? '', /^At this address of the server/);
    assert.equal(other.page.url(), elsewhere, 'a host that is not in the certificate');
  } finally {
    await plane.stop();
    await issuer.close();
    await rm(directory, { recursive: true });
  }
});
