// Generates src/cri/gen from the facts about CRI v1. Usage: node tools/generate-cri/main.ts [facts.json]
// The output is committed; run this again only when the facts or the emitters change.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { emitTable } from './emit-table.ts';
import { emitTypes } from './emit-types.ts';
import type { CriFacts } from './facts.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const factsPath = process.argv[2] ?? join(root, '..', 'shared', 'api', 'cri-runtime-v1.json');
const target = join(root, 'src', 'cri', 'gen');

const facts = JSON.parse(readFileSync(factsPath, 'utf8')) as CriFacts;
mkdirSync(target, { recursive: true });
writeFileSync(join(target, 'cri-types.ts'), emitTypes(facts));
writeFileSync(join(target, 'cri-table.ts'), emitTable(facts));
