/** Writes docs/kubelet-configuration.md: `node tools/kubelet-configuration.ts`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configurationDocument } from '../src/kubelet/configuration/document.ts';
import { repositoryRoot } from './repository.ts';

writeFileSync(join(repositoryRoot, 'docs/kubelet-configuration.md'), configurationDocument());
