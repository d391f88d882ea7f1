// npm run fuzz -- [--seed S] [--exchanges N] [--only FAMILY,...]
//
// Prints the seed first. What is found is made smaller and kept in a folder, each as a file for test/fuzz/regressions.
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Campaign } from './campaign.ts';
import type { Exchange } from './exchange.ts';
import { familyNames } from './generators/list.ts';
import { shrink } from './shrink/shrink.ts';
import { startKeelsonUp } from './targets/keelson-up.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now()) },
    exchanges: { type: 'string', default: '1000000' },
    only: { type: 'string', default: '' },
  },
});
const only = values.only.split(',').filter((name) => name !== '');
const unknown = only.find((name) => !familyNames.includes(name));
if (unknown !== undefined) throw new Error(`no family ${unknown}; there are ${familyNames.join(', ')}`);

console.log(`seed ${values.seed}`);
const report = (line: string): void => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`);
const folder = join(tmpdir(), `keelson-fuzz-findings-${values.seed}`);
let kept = 0;
const keep = (title: string, exchanges: readonly Exchange[], name = String(kept++)): void => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify({ title, exchanges }, undefined, 1)}\n`);
};
const campaign = new Campaign(await startKeelsonUp(), {
  seed: values.seed,
  exchanges: Number(values.exchanges),
  only,
  report,
  onFinding({ signature, detail, exchanges }) {
    report(`found: ${signature}\n  ${detail}`);
    keep(signature, exchanges);
  },
});
const findings = await campaign.run();
await campaign.target.stop();

for (const [at, finding] of findings.entries()) {
  console.log(`\n${finding.times} x ${finding.signature}\n  ${finding.detail}`);
  const small = await shrink(finding);
  if (small === undefined) console.log('  it does not come again by itself: all exchanges before it are kept');
  else keep(finding.signature, small, `${at}`);
}
console.log(
  [...campaign.counts]
    .toSorted()
    .map(([what, count]) => `${what}: ${count}`)
    .join(', '),
);
if (findings.length > 0) console.log(`${findings.length} findings; their exchanges are in ${folder}`);
process.exitCode = findings.length > 0 ? 1 : 0;
