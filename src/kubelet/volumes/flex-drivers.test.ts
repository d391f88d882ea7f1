/** Which names of flexVolume drivers lead to a program: those the plugin directory lists, and no other. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Exec } from '../../platform/exec.ts';
import { createMemoryFiles } from '../../platform/sim/files.ts';
import { createFlexDrivers } from './flex-drivers.ts';

async function driversIn(): Promise<{ run: string[]; call: (driver: string) => Promise<unknown> }> {
  const files = createMemoryFiles({ nowMs: () => 0 });
  for (const path of ['/flex/acme~good/good', '/flex/plain/plain', '/flex/.hidden/hidden', '/pods/evil/evil']) {
    await files.makeDir(path.slice(0, path.lastIndexOf('/')));
    await files.writeFile(path, '');
  }
  const run: string[] = [];
  const exec = {
    async run(file: string, [command = '']: readonly string[]) {
      run.push(`${file} ${command}`);
      return { exitCode: 0, stdout: '{"status":"Success"}', stderr: '', timedOut: false };
    },
  } as unknown as Exec;
  const drivers = createFlexDrivers({ files, exec }, '/flex/');
  return { run, call: (driver) => drivers.call(driver, 'mount', []) };
}

describe('flexVolume drivers', () => {
  const known: readonly [string, string][] = [
    ['acme/good', '/flex/acme~good/good'],
    ['plain', '/flex/plain/plain'],
  ];
  for (const [driver, program] of known)
    it(`${driver} is ${program}`, async () => {
      const { run, call } = await driversIn();
      await call(driver);
      assert.deepEqual(run, [`${program} init`, `${program} mount`]);
    });

  const unknown = [
    'acme/good/../../../pods/evil',
    'acme/good/..',
    '../pods/evil',
    '/pods/evil',
    'acme~good',
    'acme/good/',
    'acme/../plain',
    '..',
    '.',
    '',
    '.hidden',
    'good',
    'acme',
    'acme/good\0',
    'Acme/Good',
  ];
  for (const driver of unknown)
    it(`${JSON.stringify(driver)} runs nothing`, async () => {
      const { run, call } = await driversIn();
      await assert.rejects(call(driver), { message: `no flexVolume driver ${driver} in /flex` });
      assert.deepEqual(run, []);
    });
});
