/** Runs the pages of docs/how-to one after the other: each command of their console blocks, and compares the output. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { demoImage } from '../../tools/demo-image.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { startCluster, type TestCluster } from './cluster-fixture.ts';
import { createReader, type Reader } from './fixtures/follow-page.ts';
import { findProgram } from '../../tools/host-files.ts';

const FOLDER = join(repositoryRoot, 'docs/how-to');
/** Later pages use objects of earlier ones; the last page takes the cluster down and up. */
const PAGES = [
  'run-my-image.md',
  'service-by-url.md',
  'air-gap.md',
  'add-a-machine.md',
  'private-registry.md',
  'develop.md',
  'upgrade.md',
  'back-up-and-restore.md',
];
const NEEDS_SKOPEO = new Set(['private-registry.md', 'develop.md']);

describe('docs/how-to', () => {
  let cluster: TestCluster;
  let reader: Reader;
  before(async () => {
    const [http = '', https = '', registry = ''] = await Promise.all(
      [1, 2, 3].map(async () => String(await freePort())),
    );
    const flags = ['--gateway-http-port', http, '--gateway-https-port', https, '--registry', registry];
    cluster = await startCluster({ flags });
    reader = createReader(cluster, { 8080: http, 8443: https, 5001: registry });
    writeFileSync(join(reader.folder, 'web.tar'), demoImage('docker.io/library/web:1').archive);
  });
  after(async () => {
    reader?.close();
    await cluster?.stop();
  });

  it('contains exactly these pages', () => {
    assert.deepEqual(readdirSync(FOLDER).toSorted(), ['README.md', ...PAGES].toSorted());
  });

  for (const page of PAGES)
    it(
      page,
      { skip: NEEDS_SKOPEO.has(page) && findProgram('skopeo') === undefined && 'no skopeo on this machine' },
      () => reader.follow(`docs/how-to/${page}`, readFileSync(join(FOLDER, page), 'utf8')),
    );
});
