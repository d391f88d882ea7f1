/** Writes docs/pod-fields.md: `node tools/pod-fields.ts`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { podFieldsDocument } from '../src/kubelet/pod-fields/document.ts';
import { repositoryRoot } from './repository.ts';

writeFileSync(join(repositoryRoot, 'docs/pod-fields.md'), podFieldsDocument());
