/** The requirements for every kind of volume: set up, set up again without harm, and teardown that leaves only foreign files. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Volume } from '../../../api/gen/core-v1.ts';
import type { SimPlatform } from '../../../platform/sim/sim-platform.ts';
import {
  createVolumeFixture,
  FIXTURE_ROOT,
  podWith,
  type VolumeFixture,
  type VolumeFixtureOptions,
} from '../volume-fixture.ts';

/** A volume of the kind. */
export interface PluginCase {
  /** Source in the pod, without name. */
  readonly source: Omit<Volume, 'name'>;
  readonly prepare?: (fixture: VolumeFixture) => Promise<void> | void;
  readonly readOnly: boolean;
  readonly options?: VolumeFixtureOptions;
  /** Paths (on the host) that must exist when the volume is ready, and their content; '' for directories. */
  readonly content?: Readonly<Record<string, string>>;
  /** Mounts beside the node's tmpfs. */
  readonly mounts?: readonly { readonly source: string; readonly type: string; readonly options: readonly string[] }[];
}

function ownMounts(platform: SimPlatform): object[] {
  return platform.mounter.mounts
    .filter(({ path }) => path !== `${FIXTURE_ROOT}/memory-volumes`)
    .map(({ source, type, options }) => ({ source, type, options }));
}

/** Registers the tests of one kind. */
export function testPlugin(name: string, of: PluginCase): void {
  test(`${name}: ready, again, gone`, async (t) => {
    const fixture = createVolumeFixture(undefined, of.options);
    t.after(() => fixture.stop());
    await of.prepare?.(fixture);
    const before = fixture.platform.files.snapshot();
    const pod = podWith([{ name: 'vol', ...of.source }]);
    fixture.pods = [pod];
    fixture.start();
    const signal = new AbortController().signal;
    await fixture.manager.waitForAttachAndMount(pod, signal);
    const mounted = fixture.manager.mountedVolumes('uid-1').get('vol')!;
    assert.equal(mounted.readOnly, of.readOnly);
    const { files, clock } = fixture.platform;
    const check = async (): Promise<void> => {
      assert.deepEqual(ownMounts(fixture.platform), of.mounts ?? []);
      for (const [path, text] of Object.entries(of.content ?? {})) {
        const full = path.replace('<volume>', mounted.hostPath);
        if (text === '') assert.equal((await files.stat(full)).kind, 'directory', full);
        else assert.equal(await files.readText(full), text, full);
      }
    };
    await check();
    // A restarted kubelet has no record of the volume and sets it up again.
    const again = createVolumeFixture(fixture.platform, of.options);
    t.after(() => again.stop());
    await of.prepare?.(again);
    await again.manager.waitForAttachAndMount(pod, signal);
    await check();
    await fixture.manager.waitForUnmount(pod, signal);
    assert.deepEqual(ownMounts(fixture.platform), []);
    await clock.settle();
    const left = Object.keys(fixture.platform.files.snapshot()).filter((path) => !path.startsWith(FIXTURE_ROOT));
    assert.deepEqual(left.sort(), Object.keys(before).sort());
    assert.deepEqual(await files.readDir(`${FIXTURE_ROOT}/pods/uid-1/volumes`).catch(() => []), []);
  });
}
