// Writes all generated code from the facts in tools/facts: `npm run generate`. The output is committed; run this after a change
// of the facts or of an emitter.

import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { emitResources } from './generate-api/emit-resources.ts';
import { emitSchema } from './generate-api/emit-schema.ts';
import { emitTypes } from './generate-api/emit-types.ts';
import { loadFacts } from './generate-api/read-facts.ts';
import { emitTable } from './generate-cri/emit-table.ts';
import { emitTypes as emitCriTypes } from './generate-cri/emit-types.ts';
import { loadCriFacts } from './generate-cri/read-facts.ts';
import { isMain, repositoryRoot } from './repository.ts';

export const factsFolder = join(repositoryRoot, 'tools', 'facts');

/** The files of each generated folder, by name. These folders contain nothing else. */
export function generate(): Map<string, ReadonlyMap<string, string>> {
  const facts = loadFacts(join(factsFolder, 'kubernetes'));
  const cri = loadCriFacts(join(factsFolder, 'cri-runtime-v1.txt'));
  const api = new Map(emitTypes(facts))
    .set('resources.ts', emitResources(facts))
    .set('schema-data.json', emitSchema(facts));
  const criFiles = new Map([
    ['cri-types.ts', emitCriTypes(cri)],
    ['cri-table.ts', emitTable(cri)],
  ]);
  return new Map([
    ['src/api/gen', api],
    ['src/cri/gen', criFiles],
  ]);
}

function writeAll(): void {
  for (const [folder, files] of generate()) {
    const target = join(repositoryRoot, folder);
    mkdirSync(target, { recursive: true });
    for (const old of readdirSync(target)) if (!files.has(old)) rmSync(join(target, old));
    for (const [name, text] of files) writeFileSync(join(target, name), text);
  }
}

if (isMain(import.meta.url)) writeAll();
