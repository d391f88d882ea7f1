// Checks the layer rules (.dependency-cruiser.cjs) over src/. dependency-cruiser parses TypeScript only with a version that it
// supports; without one it reports no modules and succeeds. Therefore every source file must have been seen.
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { isMain, repositoryRoot } from './repository.ts';

/** The result of a check: `modules` are the files of src/ that were parsed. */
export interface LayerReport {
  readonly modules: number;
  readonly violations: readonly string[];
}

interface CruiseResult {
  readonly modules: readonly { readonly source: string }[];
  readonly summary: {
    readonly violations: readonly {
      readonly from: string;
      readonly to: string;
      readonly rule: { readonly name: string };
      readonly cycle?: readonly { readonly name: string }[];
      readonly comment?: string;
    }[];
  };
}

/**
 * Checks the src/ below `root` against the rules of this repository.
 * @throws Error when the checker did not run, or did not see every source file
 */
export async function checkLayers(root: string): Promise<LayerReport> {
  const result = await cruise(root);
  const seen = new Set(result.modules.map(({ source }) => source));
  const sources = globSync('src/**/*.{ts,tsx}', { cwd: root });
  const unseen = sources.filter((path) => !seen.has(path));
  if (sources.length === 0) throw new Error('no TypeScript files under src/');
  if (unseen.length > 0) {
    throw new Error(`${unseen.length} of ${sources.length} source files were not read, such as ${unseen[0]}`);
  }
  const violations = result.summary.violations.map(
    ({ rule, from, to, cycle }) => `${rule.name}: ${from} → ${cycle ? cycle.map(({ name }) => name).join(' → ') : to}`,
  );
  return { modules: sources.length, violations };
}

function cruise(root: string): Promise<CruiseResult> {
  const program = join(repositoryRoot, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
  const config = join(repositoryRoot, '.dependency-cruiser.cjs');
  const { promise, resolve: done, reject } = Promise.withResolvers<CruiseResult>();
  const options = { cwd: root, maxBuffer: 1 << 30 };
  execFile(
    process.execPath,
    [program, '--config', config, '--output-type', 'json', 'src'],
    options,
    (error, stdout, stderr) => {
      try {
        done(JSON.parse(stdout) as CruiseResult);
      } catch {
        reject(new Error(`dependency-cruiser failed: ${stderr.trim() || error?.message}`));
      }
    },
  );
  return promise;
}

if (isMain(import.meta.url)) {
  const { modules, violations } = await checkLayers(resolve(process.argv[2] ?? repositoryRoot));
  for (const violation of violations) console.error(violation);
  console.log(`${modules} modules, ${violations.length} violations of the layer rules`);
  process.exitCode = violations.length > 0 ? 1 : 0;
}
