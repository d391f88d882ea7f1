// Generates src/api/gen from the facts about the API. Usage: node tools/generate-api/main.ts [facts.json]
// The output is committed; run this again only when the facts or the emitters change.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { emitResources } from './emit-resources.ts';
import { emitSchema } from './emit-schema.ts';
import { emitTypes } from './emit-types.ts';
import { loadFacts } from './facts.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const factsPath = process.argv[2] ?? join(root, '..', 'shared', 'api', 'kubernetes-v1.36.json');
const target = join(root, 'src', 'api', 'gen');

const facts = loadFacts(factsPath);
const files = emitTypes(facts);
files.set('resources.ts', emitResources(facts));
files.set('schema-data.json', emitSchema(facts));
mkdirSync(target, { recursive: true });
for (const [name, text] of files) writeFileSync(join(target, name), text);
