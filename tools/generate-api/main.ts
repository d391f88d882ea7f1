// Generates src/api/gen from the facts about the API. Usage: node tools/generate-api/main.ts [facts.json]
// The output is committed; run this again only when the facts or the emitters change.

import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generate } from './generate.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const target = join(root, 'src', 'api', 'gen');
const files = generate(process.argv[2] ?? join(root, '..', 'shared', 'api', 'kubernetes-v1.36.json'));

mkdirSync(target, { recursive: true });
for (const old of readdirSync(target)) if (!files.has(old)) rmSync(join(target, old));
for (const [name, text] of files) writeFileSync(join(target, name), text);
