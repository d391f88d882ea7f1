/** Certificates that are renewed in their files, under virtual time. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createTestAuthority } from '../../platform/node/certificates-fixture.ts';
import type { ServedCertificates } from '../../platform/http.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { clientAuthority, followServingFiles, servedIdentity } from './serving-files.ts';

let pem = '';
before(async () => void (pem = (await createTestAuthority('any')).caPem));

/** A certificate under a name, which PEM allows before it; keys are no matter here. */
const text = (name: string): string => (name.startsWith('key') ? name : `${name}\n${pem}`);
const nameOf = (given = ''): string => given.split('\n')[0]!;

async function machine() {
  const platform = createSimPlatform();
  const { files, clock } = platform;
  const write = async (texts: Readonly<Record<string, string>>): Promise<void> => {
    for (const [name, named] of Object.entries(texts)) await files.writeFile(`/${name}`, text(named));
  };
  await write({ cert: 'cert 1', key: 'key 1', ca: 'ca 1' });
  const served: (readonly (string | undefined)[])[] = [];
  const server = {
    setCertificate({ certPem, keyPem, clientCaPem }: ServedCertificates) {
      if (nameOf(certPem).split(' ')[1] !== keyPem.split(' ')[1]) throw new Error('key values mismatch');
      served.push([nameOf(certPem), keyPem, nameOf(clientCaPem)]);
    },
  };
  const initial = { pair: { certPem: text('cert 1'), keyPem: 'key 1' }, clientCaPem: text('ca 1') };
  const identity = servedIdentity(server, initial);
  const stop = new AbortController();
  const paths = { certFile: '/cert', keyFile: '/key', clientCaFile: '/ca' };
  followServingFiles(platform, { paths, identity, initial }, stop.signal);
  const errors = (): number => platform.log.entries.filter(({ level }) => level === 'error').length;
  return { clock, write, served, identity, stop, errors, files };
}

describe('serving certificates in files', () => {
  it('are reloaded when they change, each file on its own', async () => {
    const { clock, write, served, stop } = await machine();
    await clock.advance(60_000);
    assert.deepEqual(served, [], 'nothing has changed');
    await write({ cert: 'cert 2', key: 'key 2' });
    await clock.advance(10_000);
    await write({ ca: 'ca 2' });
    await clock.advance(10_000);
    assert.deepEqual(served, [
      ['cert 2', 'key 2', 'ca 1'],
      ['cert 2', 'key 2', 'ca 2'],
    ]);
    stop.abort();
    await write({ ca: 'ca 3' });
    await clock.advance(60_000);
    assert.equal(served.length, 2);
    assert.equal(clock.pendingTimers, 0);
  });

  it('stay unchanged while the files are invalid or missing, which is logged once', async () => {
    const { clock, write, served, errors, files, stop } = await machine();
    await write({ cert: 'cert 2' });
    await clock.advance(50_000);
    assert.deepEqual([served, errors()], [[], 1]);
    await write({ key: 'key 2' });
    await clock.advance(10_000);
    assert.deepEqual(served, [['cert 2', 'key 2', 'ca 1']]);
    await files.remove('/ca');
    await clock.advance(50_000);
    assert.equal(errors(), 2);
    stop.abort();
  });

  const bad: [about: string, file: string, text: () => string][] = [
    ['an empty authority', 'ca', () => ''],
    ['an authority that is no certificate', 'ca', () => 'ca 2'],
    ['an authority that is cut off', 'ca', () => pem.slice(0, -40)],
    ['an authority that is cut off in its last line', 'ca', () => pem.trimEnd().slice(0, -1)],
    ['a second authority that is cut off', 'ca', () => `${pem}${pem.slice(0, 200)}`],
    ['an authority with half of its bytes', 'ca', () => pem.replace(/(?<=BEGIN CERTIFICATE-----\n.{64}\n)[^-]+/, '')],
    ['an empty certificate', 'cert', () => ''],
    ['a certificate that is cut off', 'cert', () => `cert 1\n${pem.slice(0, -40)}`],
    ['an empty key', 'key', () => ''],
  ];
  for (const [about, file, given] of bad)
    it(`stay unchanged for ${about}, which is logged once`, async () => {
      const { clock, write, served, errors, files, stop } = await machine();
      await files.writeFile(`/${file}`, given());
      await clock.advance(50_000);
      assert.deepEqual([served, errors()], [[], 1]);
      await write({ cert: 'cert 2', key: 'key 2', ca: 'ca 2' });
      await clock.advance(10_000);
      assert.deepEqual(served.at(-1), ['cert 2', 'key 2', 'ca 2']);
      stop.abort();
    });

  it('of names and the authority of front proxies are reloaded, each on its own', async () => {
    const platform = createSimPlatform();
    const { files, clock } = platform;
    const write = (name: string, given: string): Promise<void> => files.writeFile(`/${name}`, given);
    for (const name of ['cert a', 'cert b', 'key a', 'key b', 'proxies']) await write(name, text(name));
    const named = (name: string) => ({ certPem: text(`cert ${name}`), keyPem: `key ${name}`, names: [`${name}.org`] });
    const initial = {
      pair: { certPem: text('cert'), keyPem: 'key' },
      clientCaPem: text('ca'),
      proxyCaPem: text('proxies'),
      sni: [named('a'), named('b')],
    };
    const served: ServedCertificates[] = [];
    const heard: string[] = [];
    const stop = new AbortController();
    const at = (name: string) => ({ certFile: `/cert ${name}`, keyFile: `/key ${name}`, names: [`${name}.org`] });
    followServingFiles(
      platform,
      {
        paths: { certFile: '', keyFile: '', clientCaFile: '', proxyCaFile: '/proxies', sni: [at('a'), at('b')] },
        identity: servedIdentity({ setCertificate: (now) => void served.push(now) }, initial),
        initial,
        onProxyCa: (now) => void heard.push(nameOf(now)),
      },
      stop.signal,
    );
    await clock.advance(20_000);
    assert.equal(served.length, 0);
    await write('cert b', text('renewed'));
    await clock.advance(10_000);
    assert.deepEqual(
      served.map(({ certPem, sni }) =>
        [certPem, ...(sni ?? [])].map((one) => nameOf(typeof one === 'string' ? one : one.certPem)),
      ),
      [['cert', 'cert a', 'renewed']],
    );
    assert.deepEqual(served[0]?.sni?.[1]?.names, ['b.org']);
    await write('proxies', text('next proxies'));
    await clock.advance(10_000);
    assert.equal(served[1]?.clientCaPem, `${text('ca')}\n${text('next proxies')}`);
    assert.equal(nameOf(served[1]?.sni?.[1]?.certPem), 'renewed');
    assert.deepEqual(heard, ['next proxies']);
    stop.abort();
  });

  it('end the start without an authority in the file that is to have one', async () => {
    const { files } = createSimPlatform();
    for (const [file, given] of Object.entries({ '/empty': '', '/half': pem.slice(0, -40), '/whole': pem }))
      await files.writeFile(file, given);
    assert.equal(await clientAuthority({ files }, '/whole'), pem);
    for (const file of ['/empty', '/half', '/none'])
      await assert.rejects(clientAuthority({ files }, file), (error: Error) => {
        assert.match(error.toString(), new RegExp(`^PreflightError: unable to load client CA file ${file}: [^\n]+$`));
        return true;
      });
  });

  it('keep the authority of the files when the certificate has another source', async () => {
    const { clock, write, served, identity, stop } = await machine();
    identity.setPair({ certPem: text('signed 7'), keyPem: 'own 7' });
    await write({ ca: 'ca 2' });
    await clock.advance(10_000);
    assert.deepEqual(served, [
      ['signed 7', 'own 7', 'ca 1'],
      ['signed 7', 'own 7', 'ca 2'],
    ]);
    stop.abort();
  });
});
