import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FlagValues } from '../../apiserver/options/flags.ts';
import { parseApiServerOptions } from '../../apiserver/options/api-server-options.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { loadApiServerSetup } from './api-server-setup.ts';

const CONFIG = '/authentication.yaml';
const SECRET = '/secret';

const issuer = (url: string, ...audiences: string[]): object => ({
  issuer: { url, audiences, audienceMatchPolicy: 'MatchAny', certificateAuthority: `CA of ${url}` },
  claimMappings: { username: { claim: 'sub', prefix: '' } },
});

interface Loading {
  readonly jwt?: readonly object[];
  readonly servesConsole?: boolean;
}

async function load(flags: FlagValues, { jwt = [issuer('https://a', 'a')], servesConsole = true }: Loading = {}) {
  const platform = createSimPlatform();
  const write = (issuers: readonly object[]): Promise<void> => {
    const head = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration' };
    return platform.files.writeFile(CONFIG, JSON.stringify({ ...head, jwt: issuers }));
  };
  await write(jwt);
  await platform.files.writeFile(SECRET, 'one\n');
  const { consoleSignIn } = await loadApiServerSetup(platform, parseApiServerOptions(flags), {
    audiences: [],
    servesConsole,
  });
  const found = async (): Promise<string | undefined> => (await consoleSignIn?.issuer())?.issuerUrl;
  return { platform, write, found, consoleSignIn };
}

test('the console signs in at the first issuer that has its client as audience, as the file is now', async () => {
  const flags = { 'authentication-config': CONFIG, 'console-oidc-client-id': 'console' };
  const jwt = [issuer('https://robots', 'x'), issuer('https://people', 'x', 'console'), issuer('https://c', 'console')];
  const { platform, write, found, consoleSignIn } = await load(flags, { jwt });
  assert.deepEqual(await consoleSignIn?.issuer(), {
    issuerUrl: 'https://people',
    discoveryUrl: undefined,
    caPem: 'CA of https://people',
    clientId: 'console',
    clientSecret: undefined,
  });
  await write(jwt.slice(0, 1));
  await platform.clock.advance(60_000);
  assert.equal(await found(), undefined, 'no token has to come first');
  await write(jwt.slice(2));
  await platform.clock.advance(60_000);
  assert.equal(await found(), 'https://c');
});

test('without a client there is no sign-in', async () => {
  assert.equal((await load({})).consoleSignIn, undefined);
  assert.equal((await load({ 'authentication-config': CONFIG })).consoleSignIn, undefined);
  const issuerAlone = { 'oidc-issuer-url': 'https://a', 'oidc-client-id': 'c' };
  assert.equal((await load(issuerAlone)).consoleSignIn, undefined);
});

test("the client's secret is read at each use, and must be there at the start", async () => {
  const flags = {
    ...{ 'oidc-issuer-url': 'https://a', 'oidc-client-id': 'c' },
    ...{ 'console-oidc-client-id': 'c', 'console-oidc-client-secret-file': SECRET },
  };
  const { platform, consoleSignIn, found } = await load(flags);
  assert.equal(await found(), 'https://a');
  const secret = async (): Promise<string | undefined> => (await consoleSignIn?.issuer())?.clientSecret?.();
  assert.equal(await secret(), 'one');
  await platform.files.writeFile(SECRET, 'two');
  assert.equal(await secret(), 'two');
  await platform.files.writeFile(SECRET, ' \n');
  await assert.rejects(secret(), { message: "the client's secret cannot be read; the server's log says why" });
  await assert.rejects(load({ ...flags, 'console-oidc-client-secret-file': '/none' }), {
    message: /^--console-oidc-client-secret-file: \/none: /,
  });
});

test('without a console its flags change nothing, no secret is read, and the log has a line', async () => {
  const { platform, consoleSignIn } = await load(
    {
      ...{ 'oidc-issuer-url': 'https://a', 'oidc-client-id': 'c' },
      ...{ 'console-oidc-client-id': 'c', 'console-oidc-client-secret-file': '/none' },
    },
    { servesConsole: false },
  );
  assert.equal(consoleSignIn, undefined);
  assert.deepEqual(
    platform.log.entries.map(({ level, message }) => [level, message]),
    [['warn', 'the console is off: --console-oidc-client-id has no effect']],
  );
});
