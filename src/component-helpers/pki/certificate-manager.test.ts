import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createCertificateManager } from './certificate-manager.ts';
import { createAuthority, signRequest } from './certificates.ts';
import { readCertificate } from './read-certificate.ts';

const DAY_MS = 86_400_000;
const LIFE_DAYS = 10;
const FILE = '/pki/kubelet-server-current.pem';

async function setUp() {
  const platform = createSimPlatform();
  const { clock, crypto, random } = platform;
  const certificates = { crypto, random, nowMs: () => clock.nowMs() };
  const authority = await clock.drive(createAuthority(certificates, 'ca', 3650 * DAY_MS));
  const names = { commonName: 'system:node:n', organizations: ['system:nodes'] };
  let ipAddresses: readonly string[] = ['192.0.2.1'];
  let signs = true;
  let readable = true;
  const asked: number[] = [];
  const sign = async (pem: string): Promise<string> => {
    asked.push(clock.nowMs());
    if (!signs) throw new Error('denied');
    if (!readable) return '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    const spec = { ...names, ipAddresses, usages: ['server' as const], validityMs: LIFE_DAYS * DAY_MS };
    return signRequest(certificates, authority, { pem, spec });
  };
  const make = () =>
    createCertificateManager(
      { ...platform, sign },
      { dir: '/pki', name: 'kubelet-server', subject: () => ({ ...names, ipAddresses }) },
    );
  return {
    ...platform,
    make,
    asked,
    setAddresses: (...addresses: readonly string[]) => void (ipAddresses = addresses),
    setSigns: (now: boolean) => void (signs = now),
    setReadable: (now: boolean) => void (readable = now),
    endOf: (certPem: string) => readCertificate({ crypto }, certPem).notAfterMs,
  };
}

describe('the certificate of a node', () => {
  it('is renewed after 70 to 90 percent of its life, reported, and stored for the next start', async () => {
    const { clock, files, make, asked, endOf } = await setUp();
    const manager = make();
    const stop = new AbortController();
    const first = await clock.drive(manager.ensure(stop.signal));
    const renewed: string[] = [];
    manager.onRenewed(({ certPem }) => renewed.push(certPem));
    const keeping = manager.keep(stop.signal);
    const startMs = asked[0]!;
    await clock.advance(0.69 * LIFE_DAYS * DAY_MS);
    assert.equal(asked.length, 1);
    await clock.advance(0.22 * LIFE_DAYS * DAY_MS);
    assert.equal(asked.length, 2);
    const part = (asked[1]! - startMs) / (LIFE_DAYS * DAY_MS);
    assert.ok(part > 0.69 && part < 0.91, String(part));
    assert.deepEqual(renewed, [manager.current()?.certPem]);
    assert.ok(endOf(renewed[0]!) > endOf(first.certPem));
    stop.abort(new Error('stop'));
    await clock.drive(keeping);
    const next = make();
    assert.equal(await clock.drive(next.load()), true);
    assert.deepEqual(next.current(), manager.current());
    assert.ok((await files.readText(FILE)).startsWith(renewed[0]!.trimEnd()));
  });

  it('is renewed for an address it does not have', async () => {
    const { clock, crypto, make, asked, setAddresses } = await setUp();
    const manager = make();
    const stop = new AbortController();
    await clock.drive(manager.ensure(stop.signal));
    const keeping = manager.keep(stop.signal);
    setAddresses('192.0.2.1', 'fd00::1');
    await clock.advance(2 * 3_600_000);
    assert.equal(asked.length, 2);
    const read = readCertificate({ crypto }, manager.current()!.certPem);
    assert.deepEqual(read.ipAddresses, ['192.0.2.1', 'fd00::1']);
    stop.abort(new Error('stop'));
    await clock.drive(keeping);
  });

  it('is requested again when the signed certificate is invalid; meanwhile the old one stays', async () => {
    const { clock, files, make, asked, setReadable } = await setUp();
    const manager = make();
    const stop = new AbortController();
    const first = await clock.drive(manager.ensure(stop.signal));
    const keeping = manager.keep(stop.signal);
    setReadable(false);
    await clock.runUntil(() => asked.length >= 4, LIFE_DAYS * DAY_MS);
    assert.equal(manager.current(), first);
    assert.ok((await files.readText(FILE)).startsWith(first.certPem.trimEnd()));
    setReadable(true);
    await clock.runUntil(() => manager.current() !== first, 60_000);
    stop.abort(new Error('stop'));
    await clock.drive(keeping);
  });

  it('is not requested again after three consecutive refusals', async () => {
    const platform = createSimPlatform();
    const answers = ['refused', 'refused', 'away', 'refused', 'refused', 'refused'];
    const asked: number[] = [];
    const manager = createCertificateManager(
      { ...platform, sign: () => Promise.reject(new Error(answers[asked.push(platform.clock.nowMs()) - 1])) },
      {
        dir: '/pki',
        name: 'kubelet-client',
        subject: () => ({ commonName: 'n', organizations: [] }),
        isRefusal: (error) => error instanceof Error && error.message === 'refused',
      },
    );
    const ensured = platform.clock.drive(manager.ensure(new AbortController().signal));
    await assert.rejects(ensured, /^Error: refused$/);
    assert.equal(asked.length, answers.length);
  });

  it('is requested until it is signed; an expired one is not used', async () => {
    const { clock, make, asked, setSigns } = await setUp();
    const stop = new AbortController();
    await clock.drive(make().ensure(stop.signal));
    await clock.advance((LIFE_DAYS + 1) * DAY_MS);
    setSigns(false);
    const manager = make();
    assert.equal(await clock.drive(manager.load()), false);
    const got = manager.ensure(stop.signal);
    await clock.advance(12_000);
    assert.equal(asked.length, 4);
    setSigns(true);
    await clock.drive(got);
    assert.equal(asked.length, 5);
    stop.abort(new Error('stop'));
    await clock.drive(manager.keep(stop.signal));
  });
});
