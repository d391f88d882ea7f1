/** Certificates that are renewed in their files, under virtual time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { followServingFiles, servedIdentity } from './serving-files.ts';

async function machine() {
  const platform = createSimPlatform();
  const { files, clock } = platform;
  const write = async (texts: Readonly<Record<string, string>>): Promise<void> => {
    for (const [name, text] of Object.entries(texts)) await files.writeFile(`/${name}`, text);
  };
  await write({ cert: 'cert 1', key: 'key 1', ca: 'ca 1' });
  const served: (readonly (string | undefined)[])[] = [];
  const server = {
    setCertificate(certPem: string, keyPem: string, clientCaPem?: string) {
      if (certPem.split(' ')[1] !== keyPem.split(' ')[1]) throw new Error('key values mismatch');
      served.push([certPem, keyPem, clientCaPem]);
    },
  };
  const initial = { pair: { certPem: 'cert 1', keyPem: 'key 1' }, clientCaPem: 'ca 1' };
  const identity = servedIdentity(server, initial);
  const stop = new AbortController();
  const paths = { certFile: '/cert', keyFile: '/key', clientCaFile: '/ca' };
  followServingFiles(platform, { paths, identity, initial }, stop.signal);
  const errors = (): number => platform.log.entries.filter(({ level }) => level === 'error').length;
  return { clock, write, served, identity, stop, errors, files };
}

describe('serving certificates in files', () => {
  it('are taken up when they change, each part by itself', async () => {
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

  it('stay as they were while the files do not fit or are not there, which is said once', async () => {
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

  it('keep the authority of the files when the certificate comes from elsewhere', async () => {
    const { clock, write, served, identity, stop } = await machine();
    identity.setPair({ certPem: 'signed 7', keyPem: 'own 7' });
    await write({ ca: 'ca 2' });
    await clock.advance(10_000);
    assert.deepEqual(served, [
      ['signed 7', 'own 7', 'ca 1'],
      ['signed 7', 'own 7', 'ca 2'],
    ]);
    stop.abort();
  });
});
