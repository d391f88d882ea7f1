/** System OOM kills become events of the node, once each; those of containers do not. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Platform } from '../../platform/platform.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { startOomWatcher } from './oom-watcher.ts';

it('reports kills of the whole machine, but neither earlier ones nor those of cgroups', async () => {
  const platform = createSimPlatform();
  const { clock, files, log } = platform;
  let kernelLog = '[    1.5] Out of memory: Killed process 7 (old) total-vm:1kB\n';
  let asked = 0;
  let fails: { exitCode: number; timedOut: boolean } | undefined;
  const exec = {
    run: async () => {
      asked++;
      if (fails !== undefined) return { ...fails, stdout: '', stderr: '' };
      return { exitCode: 0, stdout: kernelLog, stderr: '', timedOut: false };
    },
  } as unknown as Platform['exec'];
  const events: string[] = [];
  await files.makeDir('/proc');
  const setCount = (count: number): Promise<void> =>
    files.writeFile('/proc/vmstat', `nr_free_pages 1\noom_kill ${count}\n`);
  await setCount(1);
  const controller = new AbortController();
  const recorder = {
    event: (...[, , reason, message]: readonly unknown[]) => void events.push(`${String(reason)}: ${String(message)}`),
  };
  startOomWatcher(
    { platform: { clock, files, exec, log }, recorder, nodeRef: { kind: 'Node', name: 'n' } },
    controller.signal,
  );
  await clock.advance(20_000);
  assert.deepEqual([events, asked], [[], 1], 'the log is read only when the counter rose');
  kernelLog += '[   30.0] Memory cgroup out of memory: Killed process 8 (container) total-vm:1kB\n';
  kernelLog += '[   31.0] Out of memory: Killed process 9 (java) total-vm:1kB\n';
  await setCount(3);
  await clock.advance(20_000);
  assert.deepEqual(events, ['SystemOOM: System OOM encountered, victim process: java, pid: 9']);
  // A kill that was reported is not reported again while the kernel's log has it.
  kernelLog = '[   31.0] Out of memory: Killed process 9 (java) total-vm:1kB\n';
  await setCount(4);
  await clock.advance(20_000);
  assert.equal(events.length, 1);
  // While the log cannot be read nothing is forgotten: neither what was reported nor that there are kills to report.
  kernelLog += '[   50.0] Out of memory: Killed process 10 (node) total-vm:1kB\n';
  await setCount(5);
  for (fails of [
    { exitCode: 1, timedOut: false },
    { exitCode: 0, timedOut: true },
  ])
    await clock.advance(1_800_000);
  assert.ok(asked < 30, `a log that cannot be read is read seldom: ${asked}`);
  fails = undefined;
  await clock.advance(600_000);
  assert.deepEqual(events.slice(1), ['SystemOOM: System OOM encountered, victim process: node, pid: 10']);
  controller.abort();
});
