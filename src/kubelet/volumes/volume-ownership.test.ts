/** The effect of fsGroup on a volume's files, always or when its root differs. Programs do the same: kubelet-devices.test.ts. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Files } from '../../platform/files.ts';
import { createNodeFiles } from '../../platform/node/files.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { fsGroupOf, setVolumeOwnership } from './volume-ownership.ts';

const GROUP = 4242;

/** A volume with a file and a folder below; its root as given, everything else of group 0. */
async function volume(root: { readonly gid: number; readonly mode: number }) {
  const { files } = createSimPlatform();
  await files.makeDir('/v/below', { mode: 0o700 });
  await files.writeFile('/v/below/file', '', { mode: 0o600 });
  await files.writeFile('/outside', '', { mode: 0o600 });
  await files.symlink('/outside', '/v/link');
  await files.chown('/v', 0, root.gid);
  await files.chmod('/v', root.mode);
  const facts = async (path: string): Promise<string> => {
    const { gid, mode } = await files.lstat(path);
    return `${gid} ${(mode & 0o7777).toString(8)}`;
  };
  return { files, facts };
}

/** Real files where something happens before a call of a method, counted from 0. */
function beforeCall(name: 'readDir' | 'chmod' | 'openPath', at: number, happens: () => void) {
  const real = createNodeFiles();
  let calls = 0;
  const method = async (...args: [string, number]): Promise<unknown> => {
    if (calls++ === at) happens();
    return (real[name] as (...args: unknown[]) => Promise<unknown>)(...args);
  };
  return { files: { ...real, [name]: method } as Files, done: () => calls > at };
}

const right = { gid: GROUP, mode: 0o2770 };
const changed = { '/v': '4242 2770', '/v/below': '4242 2770', '/v/below/file': '4242 660' };
const untouched = { '/v/below': '0 700', '/v/below/file': '0 600' };

describe('fsGroup', () => {
  const cases: {
    readonly policy?: string;
    readonly root: { readonly gid: number; readonly mode: number };
    readonly about: string;
    readonly expected: Readonly<Record<string, string>>;
  }[] = [
    { about: 'a root that is right', root: right, expected: changed },
    { policy: 'Always', about: 'a root that is right', root: right, expected: changed },
    { policy: 'OnRootMismatch', about: 'a root that is right', root: right, expected: untouched },
    { policy: 'OnRootMismatch', about: 'another group', root: { ...right, gid: 7 }, expected: changed },
    { policy: 'OnRootMismatch', about: 'too narrow a mode', root: { ...right, mode: 0o2750 }, expected: changed },
    { policy: 'OnRootMismatch', about: 'no set-group-id bit', root: { ...right, mode: 0o770 }, expected: changed },
  ];
  for (const { policy, about, root, expected } of cases)
    it(`${policy ?? 'no policy'}, ${about}: ${expected === changed ? 'all files change' : 'no file changes'}`, async () => {
      const { files, facts } = await volume(root);
      const pod = {
        metadata: {},
        spec: { containers: [], securityContext: { fsGroup: GROUP, ...(policy && { fsGroupChangePolicy: policy }) } },
      };
      const { fsGroup, policy: given } = fsGroupOf(pod);
      await setVolumeOwnership({ files, path: '/v', fsGroup, readOnly: false, ...(given && { policy: given }) });
      for (const [path, wanted] of Object.entries(expected)) assert.equal(await facts(path), wanted, path);
      assert.equal(await facts('/outside'), '0 600', 'links are not followed');
    });

  for (const swapped of ['sub', 'sub/file'])
    it(`changes the files of the volume, whenever a container replaces ${swapped} by a link`, async () => {
      const root = mkdtempSync(join(tmpdir(), 'owned-'));
      try {
        const [volume, host] = [join(root, 'v'), join(root, 'host')];
        for (const path of [join(volume, 'sub'), join(host, 'sub')]) {
          mkdirSync(path, { recursive: true });
          writeFileSync(join(path, 'file'), '');
          chmodSync(join(path, 'file'), 0o600);
        }
        for (const call of ['readDir', 'chmod', 'openPath'] as const)
          for (let at = 0; at < 3; at++) {
            // From this call on, names that the walk resolves lead to files of the host.
            const attacked = beforeCall(call, at, () => {
              renameSync(join(volume, swapped), join(root, 'moved'));
              symlinkSync(join(host, swapped), join(volume, swapped));
            });
            const order = { path: volume, fsGroup: process.getgid!(), readOnly: false };
            await setVolumeOwnership({ ...order, files: attacked.files }).catch((error: unknown) => {
              assert.match(String(error), /ENOTDIR/);
            });
            assert.equal(lstatSync(join(host, 'sub/file')).mode & 0o7777, 0o600, `${call} ${at}`);
            assert.equal(lstatSync(join(host, 'sub')).mode & 0o2000, 0, `${call} ${at}`);
            if (!attacked.done()) continue;
            unlinkSync(join(volume, swapped));
            renameSync(join(root, 'moved'), join(volume, swapped));
          }
      } finally {
        rmSync(root, { recursive: true });
      }
    });

  it('grants no write access where the volume is read-only', async () => {
    const { files, facts } = await volume({ gid: 0, mode: 0o700 });
    await setVolumeOwnership({ files, path: '/v', fsGroup: GROUP, readOnly: true });
    assert.deepEqual([await facts('/v'), await facts('/v/below/file')], ['4242 2750', '4242 640']);
  });

  it('that is absent changes nothing', async () => {
    const { files, facts } = await volume({ gid: 0, mode: 0o700 });
    await setVolumeOwnership({ files, path: '/v', fsGroup: undefined, readOnly: false });
    assert.deepEqual([await facts('/v'), await facts('/v/below/file')], ['0 700', '0 600']);
  });
});
