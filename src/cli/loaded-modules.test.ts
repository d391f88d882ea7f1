/** The modules that a command loads: at its start and on demand. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, it } from 'node:test';

const sources = resolve(import.meta.dirname, '..');

/** Imports of values, the folder's own ones; `import type` loads nothing. */
function importsOf(file: string, onDemand = true): string[] {
  const text = readFileSync(file, 'utf8');
  const whole = [...text.matchAll(/^(?:import|export) (?!type )[^;]*?from '(\.[^']+)'/gm)];
  const lazy = !onDemand ? [] : [...text.matchAll(/\bimport\('(\.[^']+)'\)(?!\.(?!then\b))/g)];
  return [...whole, ...lazy].map(([, path = '']) => resolve(file, '..', path));
}

function reachedFrom(...entries: string[]): Set<string> {
  return walk(entries, importsOf);
}

/** Without modules that are loaded on demand. */
function loadedBy(...entries: string[]): Set<string> {
  return walk(entries, (file) => importsOf(file, false));
}

function walk(entries: readonly string[], imports: (file: string) => string[]): Set<string> {
  const reached = new Set<string>();
  const waiting = entries.map((entry) => join(sources, entry));
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    waiting.push(...imports(file));
  }
  return new Set([...reached].map((file) => relative(sources, file)));
}

const folders = ['apiserver', 'controllers', 'scheduler', 'storage', 'proxy', 'dns', 'testing', 'platform/sim'];

describe('modules that a command loads', () => {
  it('a kubelet alone loads no module of the API server, controllers or scheduler', () => {
    const reached = reachedFrom('cli/kubelet.ts');
    assert.ok(reached.has('kubelet/kubelet.ts') && reached.has('grpc/grpc-caller.ts'), 'the walk goes all the way');
    const foreign = [...reached].filter((path) => folders.some((folder) => path.startsWith(`${folder}/`)));
    assert.deepEqual(foreign, []);
  });

  it('reading certificates does not load the library that makes them', () => {
    for (const entry of [
      'apiserver/bootstrap/cluster-authentication-trust.ts',
      'component-helpers/pki/read-certificate.ts',
    ])
      assert.ok(!reachedFrom(entry).has('component-helpers/pki/certificates.ts'), entry);
  });

  it('a cluster without further nodes on its machine loads nothing that makes them', () => {
    const makers = [...reachedFrom('cluster/cluster.ts')].filter((path) => path.startsWith('cluster/nodes/'));
    assert.ok(makers.includes('cluster/nodes/namespace-nodes.ts'), 'on demand they are reached');
    const loaded = [...loadedBy('cli/up.ts', 'cli/run-instance.ts', 'cluster/cluster.ts')];
    assert.deepEqual(
      loaded.filter((path) => path.startsWith('cluster/nodes/')),
      ['cluster/nodes/node-actions.ts'],
    );
  });

  it('a server loads no module of OpenID Connect before the first sign-in', () => {
    const routes = 'apiserver/console/oidc/oidc-routes.ts';
    const entries = [
      'cluster/cluster.ts',
      'cluster/control-plane/control-plane.ts',
      'cluster/alone/api-server-process.ts',
    ];
    assert.ok(reachedFrom(...entries).has(routes), 'on demand it is reached');
    const loaded = [...loadedBy(...entries, 'cluster/control-plane/api-server-setup.ts')];
    assert.deepEqual(
      loaded.filter((path) => path.startsWith('apiserver/console/oidc/')),
      [],
    );
  });

  it('the command line loads each command when it is used', () => {
    const importsOf = (file: string): string[] => {
      const text = readFileSync(join(sources, file), 'utf8');
      return [...text.matchAll(/^import (?!type )[^;]*?from '(\.[^']+)'/gm)].map(([, path]) => path!);
    };
    const atOnce = [...importsOf('cli/main.ts'), ...importsOf('cli/program.ts')];
    assert.deepEqual(atOnce.sort(), [
      '../base/errors.ts',
      '../base/version.ts',
      '../cluster/preflight-error.ts',
      './last-net.ts',
      './program.ts',
      './supervision.ts',
      './usage-error.ts',
    ]);
  });
});
