/** The authorities that servers publish for aggregated API servers, with a real API server in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMaps } from '../../api/gen/resources.ts';
import { createAuthority } from '../../component-helpers/pki/certificates.ts';
import { startWithAll } from '../all-resources-fixture.ts';
import { createClientAuthoritiesKeeper, type ClientAuthorities } from './cluster-authentication-trust.ts';

const KEY = ['kube-system', 'extension-apiserver-authentication'] as const;
const DAY_MS = 86_400_000;

test('authorities of clients: of all servers, followed, put back, and let go when their time is over', async () => {
  const { storage, platform, server } = await startWithAll([], '');
  const { objects } = storage;
  const { clock, log } = platform;
  const authority = async (name: string, days: number): Promise<string> =>
    (await createAuthority({ ...platform, nowMs: () => clock.nowMs() }, name, days * DAY_MS)).certPem;
  const [a, b, renewed, proxies] = await Promise.all(
    (['a', 'b', 'renewed', 'proxies'] as const).map((name) => authority(name, name === 'a' ? 0.02 : 100)),
  );
  const of = (clientCaPem: string, names: readonly string[]): ClientAuthorities => ({
    clientCaPem,
    proxies: {
      caPem: proxies!,
      allowedNames: names,
      usernameHeaders: ['X-Remote-User'],
      groupHeaders: ['X-Remote-Group'],
      uidHeaders: [],
      extraPrefixes: [],
    },
  });
  const keeperOf = (first: ClientAuthorities) => createClientAuthoritiesKeeper({ ...platform, objects }, first);
  const there = () => objects.get(ConfigMaps, ...KEY);
  const said = (): unknown[] => {
    const { data = {} } = there() ?? {};
    return [data['client-ca-file'], data['requestheader-client-ca-file'], data['requestheader-allowed-names']];
  };
  const until = (done: () => boolean, ms: number): Promise<unknown> => clock.runUntil(done, ms);

  const [one, two] = [keeperOf(of(a!, ['x'])), keeperOf(of(b!, ['y']))];
  await clock.drive(one.publish());
  assert.deepEqual(said(), [a, proxies, '["x"]']);
  await clock.drive(two.publish());
  assert.deepEqual(said(), [`${a}${b}`, proxies, '["x","y"]'], 'beside the other server’s');
  const settled = there()?.metadata.resourceVersion;
  for (const keeper of [one, two, one]) {
    await clock.drive(keeper.publish());
    keeper.start();
  }
  assert.equal(there()?.metadata.resourceVersion, settled, 'servers do not take turns');

  two.use(of(renewed!, ['y']));
  await until(() => said()[0] !== `${a}${b}`, 1000);
  assert.equal(said()[0], `${a}${b}${renewed}`, 'a renewed file is followed at once');

  await clock.drive(objects.guaranteedUpdate(ConfigMaps, ...KEY, (now) => ({ ...now, data: { other: 'kept' } })));
  await until(() => there()?.data?.['requestheader-allowed-names']?.includes('y') === true, 1000);
  await until(() => String(said()[0]).includes(renewed!) && String(said()[0]).includes(a!), 1000);
  assert.equal(there()?.data?.['other'], 'kept');

  one.stop();
  await until(() => !String(said()[0]).includes(a!), DAY_MS);
  assert.equal(said()[0], renewed, 'whose time is over goes at the next look');
  two.stop();
  assert.deepEqual(
    log.entries.filter(({ level }) => level === 'error'),
    [],
  );
  await clock.drive(server.stop());
});

test('an expired or unreadable authority in the file of a server: no server restores what another removes', async () => {
  const { storage, platform, server } = await startWithAll([], '');
  const { objects } = storage;
  const { clock } = platform;
  const authority = async (name: string, validityMs: number): Promise<string> =>
    (await createAuthority({ ...platform, nowMs: () => clock.nowMs() }, name, validityMs)).certPem;
  const [expired, valid] = [await authority('expired', DAY_MS / 24), await authority('valid', 100 * DAY_MS)];
  const unreadable = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  const behind = { nowMs: () => clock.nowMs() - 60_000, setTicker: clock.setTicker.bind(clock) };
  const one = createClientAuthoritiesKeeper(
    { ...platform, clock: behind, objects },
    { clientCaPem: `${expired}${unreadable}${valid}` },
  );
  const two = createClientAuthoritiesKeeper({ ...platform, objects }, { clientCaPem: valid });
  const bundle = (): string | undefined => objects.get(ConfigMaps, ...KEY)?.data?.['client-ca-file'];
  await clock.drive(one.publish());
  assert.equal(bundle(), `${expired}${valid}`, 'what is no certificate is not published');
  let writes = 0;
  const unfollow = objects.onChange(ConfigMaps, (now, old) => void (now !== old && old !== undefined && writes++));
  for (const keeper of [one, two]) {
    await clock.drive(keeper.publish());
    keeper.start();
  }
  await clock.runUntil(() => bundle() === valid, DAY_MS / 12);
  assert.equal(bundle(), valid);
  await clock.advance(DAY_MS / 24);
  assert.equal(writes, 1, 'it stays away');
  unfollow();
  for (const keeper of [one, two]) keeper.stop();
  await clock.drive(server.stop());
});
