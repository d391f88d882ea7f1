/** Which file a recording may write, at every kind of start. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createSimPlatform, type SimPlatform } from '../platform/sim/sim-platform.ts';
import { parseScenario } from '../testing/scenario.ts';
import type { Settings } from './arguments/settings-file.ts';
import { beginRecording, type RecordingStart } from './recording.ts';

const [FILE, DIR] = ['/home/me/recorded.yaml', '/data'];
const HAND_WRITTEN = 'name: mine\nsteps:\n- delete: pod/a\n';

async function machine(): Promise<{ platform: SimPlatform; begin(start?: Partial<RecordingStart>): Promise<void> }> {
  const platform = createSimPlatform();
  await platform.files.makeDir('/home/me');
  await platform.files.makeDir(DIR);
  const begin = async (more: Partial<RecordingStart> = {}): Promise<void> => {
    const settings = await settingsOf(platform);
    await beginRecording(platform, {
      ...{ file: FILE, dataDir: DIR, store: 'sqlite', settings, isRestart: false },
      ...{ cluster: { nodes: 1, images: undefined }, find: () => undefined },
      ...more,
    });
  };
  return { platform, begin };
}

async function settingsOf({ files }: SimPlatform): Promise<Settings> {
  const path = `${DIR}/settings.json`;
  return (await files.exists(path)) ? (JSON.parse(await files.readText(path)) as Settings) : {};
}

it('continues after a restart in the file of this cluster', async () => {
  const { platform, begin } = await machine();
  const { files } = platform;
  await begin();
  await files.writeFile(`${DIR}/state.db`, 'objects');
  await files.writeFile(FILE, HAND_WRITTEN);
  await begin();
  assert.equal(parseScenario(await files.readText(FILE)).steps.length, 1);
  await assert.rejects(begin({ file: '/home/me/other.yaml' }), /is recorded in \/home\/me\/recorded\.yaml/);
  await files.writeFile(FILE, 'steps: 1');
  await assert.rejects(begin(), /recorded\.yaml cannot be gone on with/);
  assert.equal(await files.readText(FILE), 'steps: 1');
  await files.remove(FILE);
  await assert.rejects(begin(), /the scenario would lack/);
});

it('a hand-written file is never replaced, whatever the data directory has', async () => {
  for (const state of [undefined, 'objects']) {
    const { platform, begin } = await machine();
    const { files } = platform;
    if (state !== undefined) await files.writeFile(`${DIR}/state.db`, state);
    await files.writeFile(FILE, HAND_WRITTEN);
    for (const store of ['sqlite', 'memory'] as const)
      for (const isRestart of [true, false])
        await assert.rejects(begin({ store, isRestart }), /there already|has run without --record/);
    assert.equal(await files.readText(FILE), HAND_WRITTEN);
    assert.deepEqual(await settingsOf(platform), {});
  }
});

it('a run without --record in between is a gap', async () => {
  const { platform, begin } = await machine();
  await begin();
  await platform.files.writeFile(`${DIR}/state.db`, 'objects');
  const settings: Settings = { ...(await settingsOf(platform)), 'ran-unrecorded': true };
  await assert.rejects(begin({ settings }), /the cluster of \/data has run without --record/);
});

it('a path that cannot be written is found before there is a store, and the right one may follow', async () => {
  const { platform, begin } = await machine();
  await assert.rejects(begin({ file: '/nowhere/r.yaml' }), /^PreflightError: --record: \/nowhere\/r\.yaml: .*ENOENT/);
  assert.equal(await platform.files.exists(`${DIR}/state.db`), false);
  await begin();
  await begin();
});

it('a cluster in memory that ended abnormally gets a new recording, and its former one is kept', async () => {
  const { platform, begin } = await machine();
  const { files } = platform;
  await begin({ store: 'memory' });
  await files.writeFile(FILE, HAND_WRITTEN);
  await assert.rejects(begin({ store: 'memory' }), /is there already/);
  await begin({ store: 'memory', isRestart: true });
  assert.deepEqual(parseScenario(await files.readText(FILE)).steps, []);
  assert.equal(await files.readText(`${FILE}.1`), HAND_WRITTEN);
});

it('an abnormal end is named in the file', async () => {
  const { platform, begin } = await machine();
  await begin();
  await platform.files.writeFile(`${DIR}/state.db`, 'objects');
  await begin({ isRestart: true });
  assert.match(await platform.files.readText(FILE), /^# Not recorded.*last second before an abnormal end$/m);
});
