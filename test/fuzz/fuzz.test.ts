/** The real process over the wire: each stored failure, then 17,000 exchanges of a seed. `npm run fuzz` runs more. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { apiVersionOf } from '../../src/api/resource-info.ts';
import { createSeededRandom } from '../../src/platform/sim/random.ts';
import { Campaign } from './campaign.ts';
import { bytesOf, type Exchange, folded } from './exchange.ts';
import { exchangeAt } from './generators/list.ts';
import { objectOf, resources } from './generators/objects.ts';
import { replay } from './replay.ts';
import { startKeelsonUp } from './targets/keelson-up.ts';
import type { Target } from './targets/target.ts';
import { OwnClient } from './targets/own-client.ts';

const SEED = '20260101';
const EXCHANGES = 17_000;
const regressions = join(import.meta.dirname, 'regressions');

/** Kinds that need another object, or a signed request; definitions have a separate generator. */
const needMore = new Set([
  'Binding',
  'CertificateSigningRequest',
  'ClusterTrustBundle',
  'CustomResourceDefinition',
  'Namespace',
]);

interface Regression {
  readonly title: string;
  readonly exchanges: readonly Exchange[];
}

test('an exchange depends only on its seed and its number', () => {
  assert.deepEqual(exchangeAt(SEED, 7), exchangeAt(SEED, 7));
  assert.notDeepEqual(exchangeAt(SEED, 7), exchangeAt('other', 7));
});

test('folded bytes are the same bytes', () => {
  for (const text of ['', 'a', 'ab'.repeat(5000), `x${'\0'.repeat(99)}y${'[{'.repeat(40)}`])
    assert.equal(bytesOf(folded(text)).toString('latin1'), text);
});

describe('keelson up, fuzzed over the wire', () => {
  let target: Target;
  before(async () => {
    target = await startKeelsonUp();
  });
  after(() => target?.stop());

  test('accepts the minimal object of every kind that can be created', async () => {
    const client = new OwnClient(target.access);
    await target.checks.prepare();
    const refused: string[] = [];
    for (const info of resources.filter(({ verbs }) => verbs.includes('create'))) {
      const root = info.group === '' ? `/api/${info.version}` : `/apis/${apiVersionOf(info)}`;
      const path = `${root}${info.namespaced ? '/namespaces/fuzz' : ''}/${info.resource}?dryRun=All`;
      const { status, body } = await client.send('POST', path, objectOf(createSeededRandom(1), info, 0));
      if (status > 201 && !needMore.has(info.kind)) refused.push(`${path}: ${status} ${String(body['message'])}`);
    }
    client.close();
    assert.deepEqual(refused, []);
  });

  for (const file of readdirSync(regressions).filter((name) => name.endsWith('.json'))) {
    const { title, exchanges } = JSON.parse(readFileSync(join(regressions, file), 'utf8')) as Regression;
    test(`${file}: ${title}`, async () => assert.deepEqual(await replay(target, exchanges), []));
  }

  test(`${EXCHANGES} exchanges of seed ${SEED}`, async (t) => {
    const report = (line: string): void => t.diagnostic(line);
    const campaign = new Campaign(target, { seed: SEED, exchanges: EXCHANGES, report });
    const findings = await campaign.run();
    target = campaign.target;
    assert.deepEqual(
      findings.map(({ signature, detail, times }) => `${times} x ${signature}: ${detail}`),
      [],
    );
  });
});
