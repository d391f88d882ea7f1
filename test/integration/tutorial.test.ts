/** Runs the commands of docs/tutorial.md: each command of its console blocks, and compares the output. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { startCluster, type TestCluster } from './cluster-fixture.ts';
import { createReader, type Reader } from './fixtures/follow-page.ts';

let cluster: TestCluster;
let reader: Reader;
before(async () => {
  const ports = { 8080: String(await freePort()), 8443: String(await freePort()) };
  cluster = await startCluster({ flags: ['--gateway-http-port', ports[8080], '--gateway-https-port', ports[8443]] });
  reader = createReader(cluster, ports);
});
after(async () => {
  reader?.close();
  await cluster?.stop();
});

test('each command of the tutorial prints the output of the page', () =>
  reader.follow('docs/tutorial.md', readFileSync(join(repositoryRoot, 'docs/tutorial.md'), 'utf8')));
